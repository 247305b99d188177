// Reading a bounded request body as JSON or as a form, and a query string, with the failing field named.
import type { IncomingMessage } from 'node:http';
import type { z } from 'zod';
import { RemoraError } from '../core/remora-error.ts';

export const BODY_CAP_BYTES = 1024 * 1024;

/** The body as a value, `undefined` when there is none. Throws 413, 415 or 400. */
export async function readBody(
  request: IncomingMessage,
  type: 'json' | 'form',
  cap_bytes = BODY_CAP_BYTES,
): Promise<unknown> {
  const text = await readText(request, cap_bytes);
  if (text === '') return undefined;
  const wanted = type === 'json' ? 'application/json' : 'application/x-www-form-urlencoded';
  const given = (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const fits = given === wanted || (type === 'json' && /^application\/[\w.-]+\+json$/.test(given));
  if (!fits) {
    const message = `the body must be ${wanted}, not ${given || 'of an unnamed type'}; send -H 'content-type: ${wanted}'`;
    throw new RemoraError('unsupported_media_type', message);
  }
  if (type === 'form') return toRecord(new URLSearchParams(text));
  try {
    return JSON.parse(text);
  } catch {
    throw new RemoraError('invalid_request', 'the body is not valid JSON');
  }
}

/** The query of a raw target as a record. A repeated name is refused, because readers disagree about which one counts. */
export function readQuery(target: string): Record<string, string> {
  const start = target.indexOf('?');
  return start < 0 ? {} : toRecord(new URLSearchParams(target.slice(start + 1)));
}

/** Parses with the row's schema; every failing field is named in `details.fields`. */
export function parseWith<S extends z.ZodType>(schema: S, value: unknown, where: string): z.output<S> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => ({
    field: [where, ...issue.path].join('.'),
    message: issue.message,
  }));
  const message = fields.map((field) => `${field.field}: ${field.message}`).join('; ');
  throw new RemoraError('invalid_request', message, { details: { fields } });
}

async function readText(request: IncomingMessage, cap_bytes: number): Promise<string> {
  const declared = Number(request.headers['content-length'] ?? 0);
  const tooLarge = () => new RemoraError('payload_too_large', `the body may have at most ${cap_bytes} bytes`);
  if (declared > cap_bytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > cap_bytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function toRecord(params: URLSearchParams): Record<string, string> {
  const record: Record<string, string> = {};
  for (const [name, value] of params) {
    if (Object.hasOwn(record, name)) {
      throw new RemoraError('invalid_request', `${name} is given twice`, { details: { fields: [{ field: name }] } });
    }
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true, writable: true });
  }
  return record;
}
