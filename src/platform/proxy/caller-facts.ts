// What is known of who calls: its address, and the scheme, host and port that it has used. A peer that is trusted says it of its own caller.
import type { IncomingMessage } from 'node:http';
import { randomHex } from '../../core/urandom.ts';
import type { CallerFacts } from './proxy-headers.ts';
import type { ProxyOptions } from './proxy-options.ts';
import type { ProxySenders } from './proxy-senders.ts';
import { TrustedPeers } from './trusted-peers.ts';

const PROCESS_BYTES = 8;
const COUNT_DIGITS = 8;
const COUNT_MAX = 2 ** 32;

const CHAIN = /^[0-9a-fA-F.:, ]{1,1000}$/;
const HOST = /^[\w.:-]{1,255}$/;
const PORT = /^\d{1,5}$/;
const ID = /^[\w.:-]{1,128}$/;

/** Drawn once: each draw asks the kernel. Ids have to differ, and need not be secret. */
let process_hex: string | undefined;
let count = 0;

function toRequestId(): string {
  process_hex ??= randomHex(PROCESS_BYTES);
  count = (count + 1) % COUNT_MAX;
  return process_hex + count.toString(16).padStart(COUNT_DIGITS, '0');
}

export class CallerReader {
  readonly #front: ProxyOptions['origin'];
  readonly #trusted: TrustedPeers;
  readonly #senders: Pick<ProxySenders, 'senderOf'> | undefined;

  /** `senders`: who has connected to the balancer in front, where that says it. */
  constructor(
    { origin, trust = [] }: Pick<ProxyOptions, 'origin' | 'trust'>,
    senders?: Pick<ProxySenders, 'senderOf'>,
  ) {
    this.#front = origin;
    this.#trusted = new TrustedPeers(trust);
    this.#senders = senders;
  }

  read(request: IncomingMessage): CallerFacts {
    const { socket, headers } = request;
    const isSecure =
      this.#front === undefined
        ? 'encrypted' in socket && socket.encrypted === true
        : this.#front.protocol === 'https:';
    const host = headers.host ?? '';
    const { address: chain, isTrusted } = this.#peerOf(socket);
    const port = /:(\d{1,5})$/.exec(host)?.[1] ?? (isSecure ? '443' : '80');
    const own = { chain, protocol: isSecure ? 'https' : 'http', host, port };
    if (!isTrusted) return { ...own, request_id: toRequestId() };
    const said = (name: string, form: RegExp) => {
      const value = headers[name];
      return typeof value === 'string' && form.test(value) ? value : undefined;
    };
    const before = said('x-forwarded-for', CHAIN);
    return {
      chain: before === undefined ? chain : `${before}, ${chain}`,
      protocol: said('x-forwarded-proto', /^https?$/) ?? own.protocol,
      host: said('x-forwarded-host', HOST) ?? host,
      port: said('x-forwarded-port', PORT) ?? port,
      request_id: said('x-request-id', ID) ?? toRequestId(),
    };
  }

  /** The caller itself, for limits and logs: behind trusted peers the last address that is none of them. */
  addressOf({ socket, headers }: IncomingMessage): string {
    const { address: peer, isTrusted } = this.#peerOf(socket);
    const given = headers['x-forwarded-for'];
    if (!isTrusted || typeof given !== 'string' || !CHAIN.test(given)) return peer;
    const chain = given.split(',').map((each) => each.trim());
    return chain.findLast((address) => !this.#trusted.has(address)) ?? peer;
  }

  /** A balancer that passes bytes on says who has connected to it, and nothing of what that one says in headers is its own. */
  #peerOf(socket: IncomingMessage['socket']): { readonly address: string; readonly isTrusted: boolean } {
    const direct = toAddress(socket.remoteAddress);
    const sender = this.#senders?.senderOf(socket) ?? 'local';
    if (sender === 'unknown') return { address: direct, isTrusted: false };
    const address = sender === 'local' ? direct : sender.address;
    return { address, isTrusted: this.#trusted.has(address) };
  }
}

/** An address of version 4 has its own form also where the listener takes both versions. */
export function toAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}
