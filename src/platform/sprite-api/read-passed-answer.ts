// The answer of another platform process to a call about a machine: its value, or the error that it answered.
import { type ErrorCode, errorBody, errorStatus } from '../../contract/errors.ts';
import { RemoraError } from '../../core/remora-error.ts';

const CAP_BYTES = 16 * 1024 * 1024;
const SECOND_MS = 1_000;

export interface PassedAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: AsyncIterable<Uint8Array>;
}

/** Undefined for an answer without a body. Throws the error, and what `toAway` makes for an answer that cannot be read. */
export async function readPassedAnswer(answer: PassedAnswer, toAway: () => RemoraError): Promise<unknown> {
  const value = parse(await readText(answer, toAway), toAway);
  if (answer.statusCode < 300) return value;
  const { success, data } = errorBody.safeParse(value);
  if (!success || !isErrorCode(data.error)) throw toAway();
  const after = Number(answer.headers['retry-after']);
  throw new RemoraError(data.error, data.message, {
    ...(data.details === undefined ? {} : { details: data.details }),
    ...(Number.isFinite(after) && after > 0 ? { retryAfter_ms: after * SECOND_MS } : {}),
  });
}

async function readText({ body }: PassedAnswer, toAway: () => RemoraError): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    const bytes = Buffer.from(piece);
    size += bytes.length;
    if (size > CAP_BYTES) throw toAway();
    pieces.push(bytes);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function parse(text: string, toAway: () => RemoraError): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    throw toAway();
  }
}

function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(errorStatus, text);
}
