// The value of a request body: JSON or a form.
import { parseBoundedJson } from '../core/bounded-json.ts';
import { RemoraError } from '../core/remora-error.ts';
import { parsePairs } from './parse-pairs.ts';
import type { BodyForm } from './request-body.ts';

/** The body as a value, `undefined` when there is none. Throws 400. */
export function parseBody(bytes: Buffer, type: BodyForm['type']): unknown {
  if (bytes.length === 0) return undefined;
  const text = toText(bytes);
  if (type === 'form') return parsePairs(text, 'body');
  try {
    return parseBoundedJson(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new RemoraError('invalid_request', `the body is not valid JSON (${reason.slice(0, 200)})`);
  }
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RemoraError('invalid_request', 'the body is not valid UTF-8');
  }
}
