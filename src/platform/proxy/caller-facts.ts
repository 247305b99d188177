// What is known of who calls: its address, and the scheme, host and port that it has used.
import type { IncomingMessage } from 'node:http';
import { randomHex } from '../../core/urandom.ts';
import type { CallerFacts } from './proxy-headers.ts';
import type { ProxyOptions } from './proxy-options.ts';

const PROCESS_BYTES = 8;
const COUNT_DIGITS = 8;
const COUNT_MAX = 2 ** 32;

/** Drawn once: each draw asks the kernel. Ids have to differ, and need not be secret. */
let process_hex: string | undefined;
let count = 0;

function toRequestId(): string {
  process_hex ??= randomHex(PROCESS_BYTES);
  count = (count + 1) % COUNT_MAX;
  return process_hex + count.toString(16).padStart(COUNT_DIGITS, '0');
}

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
    request_id: toRequestId(),
  };
}

function toAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
