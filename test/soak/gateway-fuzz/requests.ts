// Requests that are nearly right: targets a step away from what a policy allows or blocks, headers that mean something to somebody,
// bodies that hide a second request. Each knows what was sent, so that what arrives can be compared.
import type { Dice } from '../../support/dice.ts';

export interface FuzzedRequest {
  readonly id: string;
  readonly method: string;
  /** The target of the request line, without the spaces around it. */
  readonly target: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** What follows the headers. */
  readonly tail: string;
}

/** The path of a request that hides behind another one, and must never arrive. */
export const SMUGGLED = '/v1/chat/admin/smuggled';
const smuggled = `GET /v1/gateway/openai/conn_1${SMUGGLED} HTTP/1.1\r\nHost: a\r\nX-Fuzz-Id: smuggled\r\n\r\n`;

const prefixes = [
  '/v1/gateway/openai/conn_1/../conn_open', '/v1/gateway/openai/conn_1%2f..%2fconn_open', '/v1/gateway//openai/conn_1',
  '/v1/gateway/openai//conn_1', '/v1/gateway/OPENAI/conn_1', '/v1/gateway/openai/CONN_OPEN', '/V1/gateway/openai/conn_open',
  '/v1/gateway/anthropic/conn_open', '/v1/gateway/openai/conn_open%00', '/v1/gateway/openai;x/conn_open', '/v1/gateway/openai/conn_9',
  '/v1/gateway/openai/conn_open;x', '/v1/gateway/openai/conn%5fopen', '/v1/gateway/openai%2fconn_open', '/v1/gateway/openai/__proto__',
  '//remora/v1/gateway/openai/conn_open', 'http://remora/v1/gateway/openai/conn_open', 'https://evil.test/v1/gateway/openai/conn_open',
  'HTTP://a/v1/gateway/openai/conn_open', '/%761/gateway/openai/conn_open', '*', 'remora:80', '/v1/gateway/openai/conn_open?/',
  '/v1/gateway/openai/conn_open#', '/v1/./gateway/openai/conn_open', '\\v1\\gateway\\openai\\conn_open', '', '/',
  '/v1/gateway/openai/conn_other_org', '/v1/gateway/openai/conn_', '/v1/gateway/openai/conn_closed',
] as const; // biome-ignore format: a list of targets
const connectors = ['conn_1', 'conn_1', 'conn_1', 'conn_open', 'conn_open', 'conn_2', 'conn_2', 'conn_closed'] as const;
const seeds = [
  '/v1/chat/x', '/v1/chat/x/y', '/v1/chat/admin', '/v1/chat/admin/x', '/v1/chat/x/secret', '/v1/models', '/v1/images', '/v1/files',
  '/v1/files/x', '/v1/keys', '/v1/Keys', '/v1/chatter', '/v1/models/x', '/v1/images/x', '/v1/modelsx', '/v1/chat', '/v1/x', '/v1/x;v=1', '/',
] as const; // biome-ignore format: a list of paths
const insertions = [
  '/', '//', '/./', '/../', '/..', '/..;/', '..', '.', ';', ';a=b', ';/', '\\', '%2f', '%2F', '%5c', '%252f', '%25252f', '%252e%252e%252f',
  '%2e%2e/', '%2e', '%00', '%0d%0a', '%20', '%09', '#', '?', '?a=/../admin', '%3f', '%23', '%', '%2', '%zz', '%c0%af', '%c0%ae', '%c0%ae%c0%ae/', '%c0%ae%c0%ae%c0%af', '%e0%80%af',
  '%u002e', '*', 'ⓐ', 'é', '%ef%bc%8f', '%ef%bc%8e%ef%bc%8e', '%ef%bc%85%32%66', '%E2%93%90', 'a', 'X', ' ', '|', '%ff', '?key=remora_cap_x',
] as const; // biome-ignore format: a list of odd bits
const words = [
  'chat',
  'models',
  'admin',
  'x',
  'secret',
  'v1',
  '..',
  '.',
  '',
  'ADMIN',
  'files',
  'keys',
  'ⓐdmin',
  'é',
] as const;
const glue = [
  '/',
  '/',
  '/',
  '//',
  '%2f',
  '\\',
  '%5c',
  ';',
  ';a=b/',
  '/;',
  '%252f',
  '/./',
  '/../',
  '%00',
  '#',
  '?',
] as const;

const escapeOf = (character: string) =>
  [...Buffer.from(character)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');

function distort(path: string, dice: Dice): string {
  const at = dice.below(path.length + 1);
  const character = path[at] ?? '';
  const escaped = character === '%' ? character : escapeOf(character);
  switch (dice.below(8)) {
    case 0:
    case 1:
      return path.slice(0, at) + dice.pick(insertions) + path.slice(at);
    case 2:
      return path.slice(0, at) + escaped + path.slice(at + 1);
    case 3:
      return path.slice(0, at) + escaped.replaceAll('%', '%25') + path.slice(at + 1);
    case 4:
      return path.slice(0, at) + escaped.replaceAll('%', '%2525') + path.slice(at + 1);
    case 5:
      return (
        path.slice(0, at) +
        (character === character.toUpperCase() ? character.toLowerCase() : character.toUpperCase()) +
        path.slice(at + 1)
      );
    case 6:
      return path.slice(0, at) + path.slice(at + 1);
    default:
      return path + dice.pick(insertions);
  }
}

function toPath(dice: Dice): string {
  let path: string = dice.pick(seeds);
  if (dice.chance(15)) {
    path = '/';
    for (let count = dice.below(5); count > 0; count -= 1) path += dice.pick(words) + dice.pick(glue);
  }
  for (let count = dice.below(3); count > 0; count -= 1) path = distort(path, dice);
  return path;
}

function toTarget(dice: Dice): string {
  const prefix = dice.chance(88) ? `/v1/gateway/openai/${dice.pick(connectors)}` : dice.pick(prefixes);
  const target = prefix + toPath(dice);
  // A space at the end only separates; one inside ends the target.
  return (dice.chance(3) ? distort(target, dice) : target).trimEnd();
}

const names = [
  'Authorization', 'X-Api-Key', 'x_api_key', 'X-Fuzz-Key', 'x_fuzz_key', 'Api_Key', 'Cookie', 'cookie2', 'Proxy-Authorization', 'Private_Token', 'X-Goog-Api-Key',
  'X-Forwarded-For', 'X_Forwarded_Host', 'Forwarded', 'Via', 'X-Real-IP', 'X-HTTP-Method-Override', 'X_Http_Method', 'X-Method-Override',
  'X-Original-URL', 'X-Rewrite-URL', 'x_original_url', 'Remora-Generation', 'remora-error', 'Remora_Sprite', 'Fly-Src', 'Fly-Client-IP',
  'Connection', 'Connection', 'Connection', 'Keep-Alive', 'Proxy-Connection', 'TE', 'Trailer', 'Upgrade', 'HTTP2-Settings', 'Expect', 'Host',
  'Content-Length', 'Content_Length', 'Transfer-Encoding', 'Transfer_Encoding', 'Transfer-Encoding ', 'X-Ok', 'X-Hop', 'x_hop', 'Accept',
  'Content-Type', 'User-Agent', 'Sec-WebSocket-Protocol', 'sec_websocket_protocol', 'X_Custom', 'Idempotency-Key', 'Range',
] as const; // biome-ignore format: a list of names
const values = [
  'forged', 'forged', 'forged', 'close', 'keep-alive, authorization, x-ok', 'X-HOP', 'x-hop, x-api-key', 'content-length', 'host, x-fuzz-id-',
  'chunked', ' chunked', 'xchunked', 'gzip, chunked', 'chunked, identity', '0', '5', '-1', '+5', '5, 5', '0x5', '1e1', '100-continue', 'websocket',
  'h2c', 'a\tb', '', 'trailers', 'realtime, openai-insecure-api-key.hidden', 'realtime, token, hidden', 'bearer.hidden, realtime',
  'a\nX-Injected: forged', 'a\rX-Injected: forged', 'a\r\n X-Injected: forged', 'é', '127.0.0.1', '/v1/chat/admin', 'GET', 'remora_cap_forged',
] as const; // biome-ignore format: a list of values

const handshake = [
  ['Connection', 'Upgrade'],
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
] as const;

/** Headers of the framing with what they frame; some of them lie. */
function toBody(dice: Dice): { headers: (readonly [string, string])[]; tail: string } {
  const text = 'b'.repeat(1 + dice.below(20));
  const chunk = `${text.length.toString(16)}\r\n${text}\r\n`;
  const chunked = ['Transfer-Encoding', 'chunked'] as const;
  switch (dice.below(10)) {
    case 0:
      return { headers: [['Content-Length', String(text.length)]], tail: text };
    case 1:
      return { headers: [chunked], tail: `${chunk}0\r\n\r\n` };
    case 2:
      return {
        headers: [chunked, ['Trailer', 'X-Api-Key']],
        tail: `${chunk}0\r\nX-Api-Key: forged\r\nX-Trailer: forged\r\n\r\n`,
      };
    case 3:
      return { headers: [['Content-Length', '0']], tail: smuggled };
    case 4:
      return { headers: [chunked], tail: `0\r\n\r\n${smuggled}` };
    case 5:
      return { headers: [chunked, ['Content-Length', String(5 + smuggled.length)]], tail: `0\r\n\r\n${smuggled}` };
    case 6:
      return {
        headers: [
          ['Content-Length', String(text.length)],
          ['Content_Length', '1'],
        ],
        tail: text + smuggled,
      };
    case 7:
      return { headers: [chunked], tail: `${text.length.toString(16)};x=\n${smuggled}` };
    case 8:
      return { headers: [['Transfer_Encoding', 'chunked']], tail: `0\r\n\r\n${smuggled}` };
    default:
      return { headers: [['Content-Length', String(smuggled.length)]], tail: smuggled };
  }
}

/** `credential`: headers that this target wants, before all others. */
export function toFuzzedRequest(
  id: string,
  credential: readonly (readonly [string, string])[],
  dice: Dice,
): FuzzedRequest {
  const isHandshake = dice.chance(8);
  const methods = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const;
  const others = ['TRACE', 'get', 'BREW', 'CONNECT', 'PROPFIND'] as const;
  const method = isHandshake ? 'GET' : dice.chance(94) ? dice.pick(methods) : dice.pick(others);
  const headers: (readonly [string, string])[] = [...credential, ['X-Fuzz-Id', id]];
  if (dice.chance(96)) headers.push(['Host', 'localhost']);
  if (isHandshake) headers.push(...handshake);
  for (let count = dice.below(3); count > 0; count -= 1) headers.push([dice.pick(names), dice.pick(values)]);
  const body = !isHandshake && dice.chance(30) ? toBody(dice) : { headers: [], tail: '' };
  headers.push(...body.headers);
  return { id, method, target: toTarget(dice), headers, tail: body.tail };
}

export function toBytes({ method, target, headers, tail }: FuzzedRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `${method} ${target} HTTP/1.1\r\n${lines}\r\n${tail}`;
}
