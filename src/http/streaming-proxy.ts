// Passes one exchange through: the caller's request to an upstream, its answer straight into the caller's response. Bytes are
// never re-parsed, both directions have back-pressure, and the end of either side ends the other.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type CallerBody, readCallerBody, wholeBody } from './caller-body.ts';
import { type AttemptParts, ExchangeAttempt } from './exchange-attempt.ts';
import type { ExchangeOutcome } from './exchange-outcome.ts';
import { BODY_CAP_BYTES, type ExchangeUpstream } from './exchange-upstream.ts';

/**
 * Resolves when the exchange is over. Throws only while nothing has been answered: `upstream_failed`, `upstream_timeout`,
 * `outcome_unknown`, `payload_too_large`, `timeout`, or the signal's reason. Tries again once: when no byte was sent, or for GET and HEAD
 * when nothing was received. Trailers and informational answers of the upstream pass; trailers of a request do not, undici has no
 * way to send them.
 */
export function streamExchange(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: ExchangeUpstream,
): Promise<ExchangeOutcome> {
  return new Promise((resolve, reject) => {
    response.on('error', ignore);
    const headers = upstream.headers.request(request.rawHeaders);
    const { bodyCap_bytes = BODY_CAP_BYTES, bodyIdle_ms } = upstream;
    const given = upstream.body === undefined ? undefined : wholeBody(upstream.body);
    const body = given ?? readCallerBody(request, response, bodyCap_bytes, bodyIdle_ms);
    if (!(body instanceof Promise)) begin({ request, response, upstream, headers, body }, resolve, reject);
    else {
      const onRead = (read: CallerBody | undefined) => {
        if (read !== undefined) begin({ request, response, upstream, headers, body: read }, resolve, reject);
        else resolve({ ended: 'caller_gone', status: undefined, request_bytes: 0, response_bytes: 0 });
      };
      body.then(onRead).catch(reject);
    }
  });
}

function begin(
  parts: AttemptParts,
  resolve: (outcome: ExchangeOutcome) => void,
  reject: (error: unknown) => void,
): void {
  const onNotSent = () => void tryAgain(parts).then(resolve, reject);
  new ExchangeAttempt(parts, resolve, reject, onNotSent).run();
}

async function tryAgain(parts: AttemptParts): Promise<ExchangeOutcome> {
  const { request, upstream } = parts;
  const policy = await upstream.headersOfSecondTry?.();
  const again = policy === undefined ? parts : { ...parts, headers: policy.request(request.rawHeaders) };
  return new Promise((resolve, reject) => new ExchangeAttempt(again, resolve, reject).run());
}

function ignore(): void {}
