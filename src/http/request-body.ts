// Reading a bounded request body as JSON or as a form, and a query string, with the failing field named.
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { RemoraError } from '../core/remora-error.ts';

export const BODY_CAP_BYTES = 1024 * 1024;
const BODY_DEADLINE_MS = 30_000;

export type BodyType = 'json' | 'form';

/** Judges a body by its headers, before a byte of it is read. Throws 413 or 415. */
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

/** The body as a value, `undefined` when there is none. Throws 400, 408, 413 or 415. */
export async function readBody(request: IncomingMessage, type: BodyType, cap_bytes = BODY_CAP_BYTES): Promise<unknown> {
  checkBody(request, type, cap_bytes);
  const bytes = await readBytes(request, cap_bytes);
  if (bytes.length === 0) return undefined;
  const text = toText(bytes);
  if (type === 'form') return parsePairs(text, 'body');
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = error instanceof Error ? error.message : '';
    throw new RemoraError('invalid_request', `the body is not valid JSON (${reason.slice(0, 200)})`);
  }
}

/**
 * The query of a raw target as a record. A repeated name is refused, because readers disagree about which one counts, and a
 * broken escape because it has no meaning.
 */
export function readQuery(target: string): Record<string, string> {
  const start = target.indexOf('?');
  return start < 0 ? {} : parsePairs(target.slice(start + 1), 'query');
}

/** Parses with the row's schema; every failing field is named in `details.fields`. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  if (value === undefined) throw fieldError(where, 'is missing; send a JSON body');
  const fields = result.error.issues.map((issue) => ({
    field: [where, ...issue.path].join('.'),
    message: issue.message,
  }));
  const message = fields.map((field) => `${field.field}: ${field.message}`).join('; ');
  throw new RemoraError('invalid_request', message, { details: { fields } });
}

function readBytes(request: IncomingMessage, cap_bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size_bytes = 0;
    const onData = (chunk: Buffer) => {
      size_bytes += chunk.length;
      chunks.push(chunk);
      if (size_bytes > cap_bytes) finish(() => reject(tooLarge(cap_bytes)));
    };
    const onEnd = () => finish(() => resolve(Buffer.concat(chunks)));
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
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), where);
    const value = equals < 0 ? '' : decode(pair.slice(equals + 1), where);
    if (Object.hasOwn(record, name)) throw fieldError(`${where}.${name}`, 'is given twice');
    // An assignment to `__proto__` would not make a field.
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
