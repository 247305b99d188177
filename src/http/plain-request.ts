// Which calls are plain, and their bytes: the request line, the headers, and a body that is there as a whole.
import type { Dispatcher } from 'undici';
import { rememberNames } from '../core/http/remember-names.ts';

/** What methods there are, and whether a body belongs to them. */
const methods: ReadonlyMap<string, boolean> = new Map([
  ['GET', false],
  ['DELETE', false],
  ['OPTIONS', false],
  ['PATCH', true],
  ['POST', true],
  ['PUT', true],
]);

const ILLEGAL_IN_PATH = /[^!-\xff]/;
const ILLEGAL_IN_VALUE = /[^\t -~\x80-\xff]/;
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** These are written here, or are not for a plain call. */
const ofConnection: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);
const KEPT = '\r\nconnection: keep-alive';
const LONE = '\r\nconnection: close';
/** Where the name of the host stands in a head. */
const HOST_AT = 4;

/** What stands before the value of a header that passes. */
const ofName = rememberNames((name) => {
  const folded = name.toLowerCase();
  if (folded === 'content-length') return { kind: 'length', before: '' };
  if (folded === 'host') return { kind: 'host', before: '' };
  const passes = TOKEN.test(name) && !ofConnection.has(folded);
  return passes ? { kind: 'passes', before: `\r\n${name}: ` } : { kind: 'odd', before: '' };
});

export interface PlainRequest {
  readonly head: string;
  readonly body: Buffer | null;
  /** The call has a connection of its own, which is closed after it. */
  readonly isLone: boolean;
}

/**
 * Undefined for a call that is not plain: one with a streamed body, an upgrade, another method, or anything in its head that would have to
 * be refused. `host` is that of the URL; `mayNameHost`: one among the headers takes its place.
 */
export function toPlainRequest(
  host: string,
  options: Dispatcher.DispatchOptions,
  mayNameHost = false,
): PlainRequest | undefined {
  const { method, path, headers, upgrade, reset: isLone = false } = options;
  const hasBody = methods.get(method);
  const body = toBytes(options.body);
  if (hasBody === undefined || body === undefined || (upgrade ?? false) !== false) return undefined;
  if ((body !== null && !hasBody) || !path.startsWith('/') || ILLEGAL_IN_PATH.test(path)) return undefined;
  if (!Array.isArray(headers)) return undefined;
  const size_bytes = body?.length ?? 0;
  let isNamed = !mayNameHost;
  const parts = [method, ' ', path, ' HTTP/1.1\r\nhost: ', host, isLone ? LONE : KEPT];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] ?? '';
    const value = headers[index + 1] ?? '';
    const { kind, before } = ofName(name);
    if (kind === 'odd' || ILLEGAL_IN_VALUE.test(value)) return undefined;
    if (kind === 'passes') parts.push(before, value);
    else if (kind === 'host') {
      if (isNamed) return undefined;
      isNamed = true;
      parts[HOST_AT] = value;
    } else if (value !== String(size_bytes)) return undefined;
  }
  parts.push(hasBody ? `\r\ncontent-length: ${size_bytes}\r\n\r\n` : '\r\n\r\n');
  return { head: parts.join(''), body, isLone };
}

/** Undefined for a body that is not there as a whole. */
function toBytes(body: Dispatcher.DispatchOptions['body']): Buffer | null | undefined {
  if (body === null || body === undefined) return null;
  if (!Buffer.isBuffer(body)) return undefined;
  return body.length === 0 ? null : body;
}
