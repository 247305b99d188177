// Passes one request on to a machine, and its answer back.
import type { Dispatcher } from 'undici';
import { COLLECT_MAX_BYTES } from '../../http/caller-body.ts';
import type { Exchange } from '../../http/exchange.ts';
import type { ExchangeOutcome } from '../../http/exchange-outcome.ts';
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

/** Throws, before anything is answered, what `streamExchange` throws, `service_stopped` and `forbidden`. */
export async function forward(
  { request, response, upgrade }: Exchange,
  first: Way,
  { calls, headers, again, around = (dispatcher) => dispatcher }: ForwardOptions,
): Promise<ExchangeOutcome> {
  let way = first;
  const tunnel = toTunnel(request, upgrade, TUNNEL_IDLE_MS);
  const isChunked = request.headers['transfer-encoding'] !== undefined;
  const length = Number(request.headers['content-length'] ?? 0);
  // A caller that expects a 100 and sends no body is owed none (RFC 9110, section 10.1.1).
  const isAsking = request.headers.expect !== undefined && (isChunked || length > 0);
  const isStreamed = isChunked || isAsking || length > COLLECT_MAX_BYTES;
  const streamed = () =>
    createStreamCall({
      connect: () => connectTo(way),
      isChunked,
      isAsking,
      trailers: () => headers.trailers(request.rawTrailers),
    });
  return await streamExchange(request, response, {
    dispatcher: () => around(isStreamed ? streamed() : calls.dispatcher(way)),
    origin: 'http://machine',
    path: request.url ?? '/',
    headers,
    async headersOfSecondTry() {
      way = await again();
      return headers;
    },
    from: 'machine',
    bodyCap_bytes: NO_CAP,
    ...(tunnel === undefined ? {} : { tunnel }),
  });
}
