// Reading the body of an answer within a cap: as text, as lines, and as the value that the operation promises.
import type { z } from 'zod';
import { errorBody } from '../contract/errors.ts';
import { Pieces } from '../core/http/pieces.ts';
import { createLineFramer, LineTooLongError } from '../core/ndjson.ts';
import { parseJson } from './failure.ts';
import { UpstreamError } from './upstream-error.ts';

export const ANSWER_CAP_BYTES = 8 * 1024 * 1024;

export async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces = new Pieces();
  for await (const chunk of body) {
    pieces.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    if (pieces.bytes > ANSWER_CAP_BYTES) throw tooLarge(`the answer has more than ${ANSWER_CAP_BYTES} bytes`);
  }
  return pieces.take().toString('utf8');
}

/** Lines as they are completed, and a last one without its newline. */
export async function* readLines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const framer = createLineFramer();
  for await (const chunk of body) {
    const lines: string[] = [];
    let tooLong: unknown;
    try {
      framer.push(chunk, (line) => lines.push(line));
    } catch (error) {
      tooLong = error;
    }
    yield* lines;
    if (tooLong !== undefined) throw tooLong instanceof LineTooLongError ? tooLarge(tooLong.message) : tooLong;
  }
  const last = framer.end();
  if (last !== '') yield last;
}

/** Throws `invalid_answer` naming the fields, never their values; an error line of a stream throws what it says. */
export function parseAnswer(schema: z.ZodType, text: string, status: number): unknown {
  const value = parseJson(text);
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const said = errorBody.safeParse(value);
  if (said.success) {
    const { error: code, message, details } = said.data;
    throw new UpstreamError(message, { status, code, retryable: true, sent: true, details });
  }
  const fields = result.error.issues.map((issue) => `${issue.path.join('.') || 'body'}: ${issue.message}`);
  const message = `the answer is not what was expected: ${fields.slice(0, 5).join('; ')}`;
  throw new UpstreamError(message, { status, code: 'invalid_answer', retryable: false, sent: true });
}

function tooLarge(message: string): UpstreamError {
  return new UpstreamError(message, { code: 'answer_too_large', retryable: false, sent: true });
}
