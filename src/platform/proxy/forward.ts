// Passes one request on to a machine, and its answer back.
import type { IncomingMessage } from 'node:http';
import type { Dispatcher } from 'undici';
import { COLLECT_MAX_BYTES } from '../../http/caller-body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { ExchangeOutcome } from '../../http/exchange-outcome.ts';
import type { ExchangeTunnel, ExchangeUpstream } from '../../http/exchange-upstream.ts';
import { createStreamCall } from '../../http/stream-call.ts';
import { streamExchange } from '../../http/streaming-proxy.ts';
import { toTunnel } from '../../http/to-tunnel.ts';
import { connectTo, type MachineCalls, type Way } from './machine-calls.ts';
import type { ProxyHeaders } from './proxy-headers.ts';

export interface ForwardOptions {
  readonly calls: MachineCalls;
  readonly headers: ProxyHeaders;
  /** The way of the second try, when the machine turned out to be asleep. */
  readonly again: () => Promise<Way>;
  /** Comes between the request and the machine. */
  readonly around?: (dispatcher: Pick<Dispatcher, 'dispatch'>) => Pick<Dispatcher, 'dispatch'>;
}

/** A program in a machine may have bodies of any size. */
const NO_CAP = Number.MAX_SAFE_INTEGER;
/** TCP finds a caller that is gone, and the channel a machine that is. */
const TUNNEL_IDLE_MS = 0;

/** Throws, or rejects with, before anything is answered, what `streamExchange` throws, `service_stopped` and `forbidden`. */
export function forward(exchange: Exchange, first: Way, options: ForwardOptions): Promise<ExchangeOutcome> {
  return streamExchange(exchange.request, exchange.response, new MachineUpstream(exchange, first, options));
}

/** A class, and no object of functions, because there is one for each request. */
class MachineUpstream implements ExchangeUpstream {
  readonly origin = 'http://machine';
  readonly from = 'machine';
  readonly asksNotToHold = true;
  readonly bodyCap_bytes = NO_CAP;
  readonly path: string;
  readonly headers: ProxyHeaders;
  readonly tunnel: ExchangeTunnel | undefined;
  readonly #request: IncomingMessage;
  readonly #options: ForwardOptions;
  #way: Way;

  constructor({ request, upgrade }: Exchange, first: Way, options: ForwardOptions) {
    this.path = request.url ?? '/';
    this.headers = options.headers;
    this.tunnel = toTunnel(request, upgrade, TUNNEL_IDLE_MS);
    this.#request = request;
    this.#options = options;
    this.#way = first;
  }

  dispatcher(): Pick<Dispatcher, 'dispatch'> {
    const { calls, around } = this.#options;
    const dispatcher = this.#findStreamed() ?? calls.dispatcher(this.#way);
    return around === undefined ? dispatcher : around(dispatcher);
  }

  async headersOfSecondTry(): Promise<ProxyHeaders> {
    this.#way = await this.#options.again();
    return this.headers;
  }

  /** Undefined for a body that is there as a whole before it is sent. */
  #findStreamed(): Pick<Dispatcher, 'dispatch'> | undefined {
    const request = this.#request;
    const { headers } = request;
    const isChunked = headers['transfer-encoding'] !== undefined;
    const length = Number(headers['content-length'] ?? 0);
    // A caller that expects a 100 and sends no body is owed none (RFC 9110, section 10.1.1).
    const isAsking = headers.expect !== undefined && (isChunked || length > 0);
    if (!isChunked && !isAsking && length <= COLLECT_MAX_BYTES) return undefined;
    return createStreamCall({
      connect: () => connectTo(this.#way),
      isChunked,
      isAsking,
      // There when the body has ended.
      trailers: () => this.headers.trailers(request.rawTrailers),
    });
  }
}
