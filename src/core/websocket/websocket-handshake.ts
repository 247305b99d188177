// The two halves of a WebSocket handshake that passes through: whether the caller's half is one, and whether the upstream's
// half accepts it (RFC 6455, sections 4.2.1 and 4.1). Header lists are flat: name, value, name, value. Pure.
import { createHash } from 'node:crypto';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Sixteen bytes in base64. */
const KEY = /^[A-Za-z0-9+/]{21}[AQgw]==$/;

/** The caller's key; undefined when this is no handshake of version 13 with one key. */
export function findHandshakeKey(headers: readonly string[]): string | undefined {
  const keys = valuesOf(headers, 'sec-websocket-key');
  const versions = valuesOf(headers, 'sec-websocket-version');
  const key = keys[0];
  if (keys.length !== 1 || versions.length !== 1 || versions[0] !== '13') return undefined;
  return key !== undefined && KEY.test(key) ? key : undefined;
}

/** True when the headers of a 101 accept the handshake with this key. Otherwise the upstream speaks another protocol. */
export function isAccepted(headers: readonly string[], key: string): boolean {
  const accepts = valuesOf(headers, 'sec-websocket-accept');
  const upgrades = valuesOf(headers, 'upgrade');
  const expected = createHash('sha1')
    .update(key + GUID)
    .digest('base64');
  return accepts.length === 1 && accepts[0] === expected && upgrades[0]?.toLowerCase() === 'websocket';
}

function valuesOf(headers: readonly string[], wanted: string): string[] {
  return headers.filter((_, index) => index % 2 === 1 && headers[index - 1]?.toLowerCase() === wanted).map(trim);
}

function trim(text: string): string {
  return text.trim();
}
