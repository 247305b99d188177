// Passes one exchange through: the caller's request to an upstream, its answer straight into the caller's response. Bytes are
// never re-parsed, both directions have back-pressure, and the end of either side ends the other.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { RemoraError } from '../core/remora-error.ts';
import { readCallerBody, wholeBody } from './caller-body.ts';
import { ExchangeAttempt } from './exchange-attempt.ts';
import type { ExchangeOutcome } from './exchange-outcome.ts';
import { BODY_CAP_BYTES, type ExchangeUpstream } from './exchange-upstream.ts';

/**
 * Resolves when the exchange is over. Throws only while nothing has been answered: `upstream_failed`, `upstream_timeout`,
 * `outcome_unknown`, `payload_too_large`, `timeout`, or the signal's reason. Tries again once: when no byte was sent, or for GET and HEAD
 * when nothing was received. Trailers and informational answers of the upstream pass; trailers of a request do not, undici has no
 * way to send them.
 */
export async function streamExchange(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: ExchangeUpstream,
): Promise<ExchangeOutcome> {
  response.on('error', ignore);
  const headers = upstream.headers.request(request.rawHeaders);
  const { bodyCap_bytes = BODY_CAP_BYTES, bodyIdle_ms } = upstream;
  const given = upstream.body === undefined ? undefined : wholeBody(upstream.body);
  const read = given ?? readCallerBody(request, response, bodyCap_bytes, bodyIdle_ms);
  const body = read instanceof Promise ? await read : read;
  if (body === undefined) return { ended: 'caller_gone', status: undefined, request_bytes: 0, response_bytes: 0 };
  const parts = { request, response, upstream, headers, body };
  const first = await new ExchangeAttempt(parts).run(true);
  if (first !== 'not_sent') return first;
  const policy = await upstream.headersOfSecondTry?.();
  const again = policy === undefined ? parts : { ...parts, headers: policy.request(request.rawHeaders) };
  const second = await new ExchangeAttempt(again).run(false);
  if (second !== 'not_sent') return second;
  throw new RemoraError('upstream_failed', `the ${upstream.from} could not be reached`);
}

function ignore(): void {}
