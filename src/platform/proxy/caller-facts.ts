// What is known of who calls: its address, and the scheme, host and port that it has used.
import type { IncomingMessage } from 'node:http';
import { randomHex } from '../../core/urandom.ts';
import type { CallerFacts } from './proxy-headers.ts';
import type { ProxyOptions } from './proxy-options.ts';

const ID_BYTES = 12;

/** @param front the scheme and the port that callers use, where something stands before the proxy. */
export function toCallerFacts(request: IncomingMessage, front: ProxyOptions['origin']): CallerFacts {
  const { socket, headers } = request;
  const isSecure =
    front === undefined ? 'encrypted' in socket && socket.encrypted === true : front.protocol === 'https:';
  const host = headers.host ?? '';
  return {
    chain: toAddress(socket.remoteAddress),
    protocol: isSecure ? 'https' : 'http',
    host,
    port: /:(\d{1,5})$/.exec(host)?.[1] ?? (isSecure ? '443' : '80'),
    request_id: randomHex(ID_BYTES),
  };
}

function toAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
