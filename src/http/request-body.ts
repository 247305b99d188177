// Reads a bounded request body as JSON or as a form, and a query string; errors name the failing field.
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { toFieldProblem } from '../contract/field-problem.ts';
import { parseBoundedJson } from '../core/bounded-json.ts';
import { Pieces } from '../core/http/pieces.ts';
import { RemoraError } from '../core/remora-error.ts';

export const BODY_CAP_BYTES = 1024 * 1024;
const BODY_DEADLINE_MS = 30_000;
/** The most pairs that a query or a form may have. */
const PAIRS_MAX = 256;
/**
 * The most fields that an answer names, and the longest text for each: a list of a thousand entries may have a thousand errors.
 */
const FIELDS_SHOWN = 20;
const TEXT_SHOWN = 500;

export type BodyType = 'json' | 'form';

/** Judges a body by its headers, before any byte of it is read. Throws 413 or 415. */
export function checkBody(request: IncomingMessage, type: BodyType, cap_bytes = BODY_CAP_BYTES): void {
  const declared_bytes = Number(request.headers['content-length'] ?? 0);
  if (declared_bytes > cap_bytes) throw tooLarge(cap_bytes);
  if (declared_bytes === 0 && request.headers['transfer-encoding'] === undefined) return;
  const wanted = type === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  const given = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  if (given === wanted || (type === 'json' && /^application\/[\w.-]+\+json$/.test(given))) return;
  throw new RemoraError(
    'unsupported_media_type',
    `the body must be ${wanted}, not ${given || 'of an unnamed type'}; send -H 'content-type: ${wanted}'`,
  );
}

/** The body as a value, `undefined` when there is none. `onRead` runs before it is parsed. Throws 400, 408, 413 or 415. */
export async function readBody(request: IncomingMessage, type: BodyType, onRead?: () => void): Promise<unknown> {
  checkBody(request, type);
  const bytes = await readBytes(request, BODY_CAP_BYTES);
  onRead?.();
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

/**
 * The query of a raw target as a record. A repeated name is refused, because readers disagree about which one counts; a broken
 * escape is refused, because it has no meaning.
 */
export function readQuery(target: string): Record<string, string> {
  const start = target.indexOf('?');
  return start < 0 ? {} : parsePairs(target.slice(start + 1), 'query');
}

/** Parses with the operation's schema; the failing fields are named in `details.fields`. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value, { error: toFieldProblem });
  if (result.success) return result.data;
  if (value === undefined) throw fieldError(where, 'is missing; send a JSON body');
  const { issues } = result.error;
  const fields = issues.slice(0, FIELDS_SHOWN).map((issue) => ({
    field: [where, ...issue.path].join('.').slice(0, TEXT_SHOWN),
    message: issue.message.slice(0, TEXT_SHOWN),
  }));
  const more = issues.length > FIELDS_SHOWN ? `; and ${issues.length - FIELDS_SHOWN} more` : '';
  const message = fields.map((field) => `${field.field}: ${field.message}`).join('; ') + more;
  throw new RemoraError('invalid_request', message, { details: { fields } });
}

function readBytes(request: IncomingMessage, cap_bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces = new Pieces();
    const onData = (chunk: Buffer) => {
      pieces.push(chunk);
      if (pieces.bytes > cap_bytes) finish(() => reject(tooLarge(cap_bytes)));
    };
    const onEnd = () => finish(() => resolve(pieces.take()));
    const onClose = () => finish(() => reject(new RemoraError('invalid_request', 'the body ended early')));
    const deadline = setTimeout(() => {
      finish(() => reject(new RemoraError('timeout', `the body took more than ${BODY_DEADLINE_MS} ms`)));
    }, BODY_DEADLINE_MS);
    function finish(settle: () => void): void {
      clearTimeout(deadline);
      request.off('data', onData).off('end', onEnd).off('close', onClose).pause();
      settle();
    }
    request.on('data', onData).once('end', onEnd).once('close', onClose);
    if (request.destroyed) onClose();
  });
}

function toText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new RemoraError('invalid_request', 'the body is not valid UTF-8');
  }
}

function parsePairs(text: string, where: string): Record<string, string> {
  const record: Record<string, string> = {};
  const pairs = text.split('&', PAIRS_MAX + 1);
  if (pairs.length > PAIRS_MAX) throw fieldError(where, `has more than ${PAIRS_MAX} parameters`);
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), where);
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1), where);
    if (Object.hasOwn(record, name)) throw fieldError(`${where}.${name.slice(0, 100)}`, 'is given twice');
    // An assignment to `__proto__` would change the prototype and not make a field.
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
}

function decode(text: string, where: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw fieldError(`${where}.${text.slice(0, 100)}`, 'has a broken escape');
  }
}

function fieldError(field: string, message: string): RemoraError {
  return new RemoraError('invalid_request', `${field}: ${message}`, { details: { fields: [{ field, message }] } });
}

function tooLarge(cap_bytes: number): RemoraError {
  return new RemoraError('payload_too_large', `the body may have at most ${cap_bytes} bytes`);
}
