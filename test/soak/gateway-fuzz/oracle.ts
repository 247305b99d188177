// What is wrong with a request that has arrived, by comparing it with what was sent. Shares no code with the sources.
import { findPathBreach, fuzzedConnectors } from './connectors.ts';
import { type FuzzedRequest, SMUGGLED } from './requests.ts';

export interface Arrival {
  readonly method: string;
  /** The path that the provider of the connector sees: without the part that names the connector. */
  readonly path: string;
  readonly rawHeaders: readonly string[];
  /** Headers that the gateway puts in, with their values; each must be there once. */
  readonly injected: Readonly<Record<string, string>>;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Names that no caller can set, `_` read as `-`. */
const stranger =
  /^(?:(?:proxy-)?authorization|(?:x-)?api-key|x-goog-api-key|private-token|cookie2?|x-forwarded-.*|forwarded|via|x-real-ip|x-http-method.*|x-method-override|remora-.*|x-original-.*|x-rewrite-.*|transfer-encoding|te|trailer|proxy-.*|fly-.*|keep-alive|http2-settings|expect|host|upgrade|connection)$/;
/** Written by the connection to the provider itself. */
const framing = new Set(['host', 'connection', 'transfer-encoding', 'content-length', 'upgrade']);

/** The connector that a target names when it is written in the one way that there is. */
export function connectorOf(target: string) {
  const [, id, path = ''] = /^\/v1\/gateway\/openai\/(\w+)((?:[/?].*)?)$/s.exec(target) ?? [];
  const connector = fuzzedConnectors.find((one) => one.id === id);
  return connector && { connector, path: path.startsWith('/') ? path : `/${path}` };
}

const keyOf = (name: string) => name.trim().toLowerCase().replaceAll('_', '-');

/** Whether it has a capability, also one that is written with escapes, of which a server may take off three layers. */
function hasCapability(pair: string): boolean {
  let text = pair;
  for (let layers = 0; layers <= 3; layers += 1) {
    if (/remora_cap_/i.test(text)) return true;
    text = text.replaceAll(/%([0-9a-f]{2})/gi, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)));
  }
  return false;
}

function withoutCapability(path: string): string {
  const [bare = '', query] = path.split(/\?(.*)/s);
  if (query === undefined) return path;
  const pairs = query.split('&');
  const kept = pairs.filter((pair) => !hasCapability(pair));
  if (kept.length === pairs.length) return path;
  return kept.length === 0 ? bare : `${bare}?${kept.join('&')}`;
}

export function findBreach(sent: FuzzedRequest | undefined, arrival: Arrival): string | undefined {
  if (sent === undefined) return 'nobody sent it';
  if (arrival.path.includes(SMUGGLED)) return 'it was smuggled';
  if (sent.method !== arrival.method || !methods.has(sent.method)) return `the method was ${sent.method}`;
  if (!/^[!"$-[\]-~]+$/.test(sent.target)) return 'the target holds what no target may hold';
  const framed = findFramingBreach(sent);
  if (framed !== undefined) return framed;
  const named = connectorOf(sent.target);
  if (named === undefined) return `no connector has the target ${sent.target}`;
  if (arrival.path !== named.path && arrival.path !== withoutCapability(named.path))
    return `it was sent as ${sent.target}`;
  if (sent.headers.filter(([name]) => name.toLowerCase() === 'host').length !== 1) return 'it had not one Host';
  return findPathBreach(named.connector, arrival.path) ?? findHeaderBreach(sent, arrival);
}

/** Lengths of which two servers could think differently are refused before anybody reads a body. */
function findFramingBreach({ headers }: FuzzedRequest): string | undefined {
  const valuesOf = (wanted: string) =>
    headers.filter(([name]) => name.toLowerCase() === wanted).map(([, value]) => value.trim());
  const lengths = valuesOf('content-length');
  const encodings = valuesOf('transfer-encoding');
  if (lengths.length + encodings.length > 1) return 'it had more than one length';
  const isOdd = !lengths.every((value) => /^\d+$/.test(value)) || !encodings.every((value) => value === 'chunked');
  return isOdd ? `it had the length ${[...lengths, ...encodings]}` : undefined;
}

function findHeaderBreach(sent: FuzzedRequest, { rawHeaders, injected }: Arrival): string | undefined {
  const nominated = new Set(
    sent.headers
      .filter(([name]) => name.toLowerCase() === 'connection')
      .flatMap(([, value]) => value.split(',').map(keyOf)),
  );
  const seen = new Map<string, number>();
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]];
    const key = keyOf(name);
    seen.set(key, (seen.get(key) ?? 0) + 1);
    if (injected[name] === value) continue;
    if (framing.has(name.toLowerCase()) && !value.includes('forged')) continue;
    if (stranger.test(key)) return `the header ${name}: ${value} arrived`;
    if (nominated.has(key) && key !== 'content-type') return `the header ${name} was of one connection`;
    if (key === 'sec-websocket-protocol') {
      if (/hidden|remora_cap_/.test(value)) return `the subprotocols ${value} arrived`;
      continue;
    }
    const isSent = sent.headers.some(
      ([its, text]) => its === name && Buffer.from(text).toString('latin1').trim() === value,
    );
    if (!isSent) return `the header ${name}: ${value} was not sent so`;
  }
  for (const name of [...Object.keys(injected), 'host']) {
    if (seen.get(name) !== 1) return `${name} arrived ${seen.get(name) ?? 0} times`;
  }
  if (seen.has('content-length') && seen.has('transfer-encoding')) return 'two lengths arrived';
  return undefined;
}
