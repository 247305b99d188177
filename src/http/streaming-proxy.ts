// Passes one exchange through: the caller's request to an upstream, its answer straight into the caller's response. Bytes are
// never re-parsed, both directions have back-pressure, and the end of either side ends the other.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import type { AnswerGuard } from '../core/gateway/answer-guard.ts';
import { toCallerHeaders } from '../core/gateway/header-hygiene.ts';
import { RemoraError } from '../core/remora-error.ts';
import { AnswerWriter } from './answer-writer.ts';
import { type CallerBody, readCallerBody } from './caller-body.ts';
import { dropRest } from './drop-rest.ts';
import { HintLimit } from './hint-limit.ts';
import { toPairs, toTexts } from './raw-headers.ts';
import { switchToTunnel } from './switch-to-tunnel.ts';
import { TUNNEL_IDLE_MS } from './tunnel.ts';
import type { Upgrade } from './upgrade.ts';
import { isRetryable, toUpstreamError } from './upstream-error.ts';

/** A model that thinks before its first byte may take minutes; ten is what the clients of the large providers wait. */
export const HEADERS_TIMEOUT_MS = 600_000;
export const BODY_CAP_BYTES = 32 * 1024 * 1024;

export interface ExchangeUpstream {
  /** Asked once for each try, so that each try takes the present pool. */
  readonly dispatcher: () => Dispatcher;
  readonly origin: string;
  /** Path and query, sent byte for byte. */
  readonly path: string;
  /** Flat, made by `toUpstreamHeaders`. */
  readonly headers: string[];
  /** The kind of upstream. It is named in messages and decides whose error marker counts. */
  readonly from: 'provider' | 'platform';
  /** Keeps the credential that goes out with the request out of the head and the trailers of the answer. */
  readonly guard?: AnswerGuard;
  /** Cuts the exchange. Before the answer has begun the reason is thrown, if it is a RemoraError. */
  readonly signal?: AbortSignal;
  /** The deadline of the status line; default ten minutes. */
  readonly headersTimeout_ms?: number;
  /** The longest pause within an answer that has begun; default 0 = no limit. The duration of a body has no limit. */
  readonly idleTimeout_ms?: number;
  /** Asks the upstream for a WebSocket; any answer but 101 reaches the caller like other answers. */
  readonly tunnel?: ExchangeTunnel;
  /** Default 32 MiB. */
  readonly bodyCap_bytes?: number;
  /** Runs before work is done on bytes of the upstream. */
  readonly onTurn?: (() => void) | undefined;
  /** How long the caller may send nothing while its body is incomplete; default a minute. */
  readonly bodyIdle_ms?: number;
  /** Gets the flat headers of the answer. Its result gets the body as it arrives, and must neither keep nor change it. */
  readonly observe?: (headers: readonly string[]) => ((chunk: Uint8Array) => void) | undefined;
}

export interface ExchangeTunnel {
  readonly upgrade: Upgrade;
  /** The caller's key, as `findHandshakeKey` returns it. */
  readonly key: string;
  /** How long a tunnel may be without a byte either way; default ten minutes, 0 = no limit. */
  readonly idle_ms?: number;
}

/** `complete`: all of it was sent. `cut`: ended by `signal`. In all but the first case the caller's connection is cut. */
export type ExchangeEnd = 'complete' | 'caller_gone' | 'upstream_broke' | 'cut';

export interface ExchangeOutcome {
  readonly ended: ExchangeEnd;
  /** The status of the upstream; `undefined` when the caller went away before it. */
  readonly status: number | undefined;
  readonly request_bytes: number;
  readonly response_bytes: number;
  /** Why Remora ended the exchange, where that is not the reason of `signal`. */
  readonly reason?: RemoraError;
}

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
  const read = readCallerBody(request, response, upstream.bodyCap_bytes ?? BODY_CAP_BYTES, upstream.bodyIdle_ms);
  const body = read instanceof Promise ? await read : read;
  if (body === undefined) return { ended: 'caller_gone', status: undefined, request_bytes: 0, response_bytes: 0 };
  const first = await new Attempt(request, response, upstream, body).run(true);
  if (first !== 'not_sent') return first;
  const second = await new Attempt(request, response, upstream, body).run(false);
  if (second !== 'not_sent') return second;
  throw new RemoraError('upstream_failed', `the ${upstream.from} could not be reached`);
}

class Attempt implements Dispatcher.DispatchHandler {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upstream: ExchangeUpstream;
  readonly #body: CallerBody;
  #controller: Dispatcher.DispatchController | undefined;
  #cancelled: Error | undefined;
  #answerSeen = false;
  #status: number | undefined;
  #response_bytes = 0;
  readonly #hints: HintLimit;
  #writer: AnswerWriter | undefined;
  #mayRetry = false;
  #settled = false;
  #resolve: (outcome: ExchangeOutcome | 'not_sent') => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(request: IncomingMessage, response: ServerResponse, upstream: ExchangeUpstream, body: CallerBody) {
    this.#request = request;
    this.#response = response;
    this.#upstream = upstream;
    this.#body = body;
    this.#hints = new HintLimit(upstream.from);
  }

  /** `not_sent`: another try may be made; only when `mayRetry`. */
  run(mayRetry: boolean): Promise<ExchangeOutcome | 'not_sent'> {
    this.#mayRetry = mayRetry;
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#response.on('close', this.#onClose);
      this.#response.on('drain', this.#onDrain);
      this.#upstream.signal?.addEventListener('abort', this.#onCut);
      if (this.#response.destroyed) this.#onClose();
      else if (this.#upstream.signal?.aborted) this.#onCut();
      else this.#dispatch();
    });
  }

  #dispatch(): void {
    const { dispatcher, origin, path, headers, headersTimeout_ms, idleTimeout_ms, tunnel } = this.#upstream;
    const options = {
      origin,
      path,
      method: this.#request.method ?? 'GET',
      headers,
      body: this.#body.open(),
      headersTimeout: headersTimeout_ms ?? HEADERS_TIMEOUT_MS,
      bodyTimeout: idleTimeout_ms ?? 0,
      ...(tunnel === undefined ? {} : { upgrade: 'websocket' }),
    };
    dispatcher().dispatch(options, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cancelled !== undefined) controller.abort(this.#cancelled);
  }

  onResponseStarted(): void {
    this.#answerSeen = true;
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _headers: unknown, socket: Duplex): void {
    const { tunnel, from, guard, signal } = this.#upstream;
    if (this.#settled || tunnel === undefined) {
      socket.on('error', () => undefined).destroy();
      return;
    }
    this.#status = status;
    this.#finish();
    const { upgrade, key, idle_ms = TUNNEL_IDLE_MS } = tunnel;
    const headers = toTexts(controller.rawHeaders);
    try {
      const running = switchToTunnel({ upgrade, key, upstream: socket, headers, from, guard, signal, idle_ms });
      running.then((outcome) => this.#resolve({ status, ...outcome }), this.#reject);
    } catch (error) {
      this.#reject(error);
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, message?: string): void {
    if (this.#settled) return;
    const { from, guard, onTurn } = this.#upstream;
    onTurn?.();
    const raw = toTexts(controller.rawHeaders);
    const headers = toCallerHeaders(raw, from, guard);
    if (status < 200) {
      this.#onHint(status, raw, headers);
      return;
    }
    const isSafe = /^[\t -~]*$/.test(message ?? '') && !guard?.holds(message ?? '');
    this.#response.writeHead(status, isSafe ? message : undefined, headers);
    this.#status = status;
    this.#writer = new AnswerWriter(this.#response, controller, this.#upstream.observe?.(headers));
  }

  #onHint(status: number, raw: readonly string[], headers: string[]): void {
    const error = this.#hints.take(raw);
    if (error !== undefined) this.#fail(error, error);
    else if (this.#request.httpVersion === '1.1') this.#response.writeInformation(status, headers);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#upstream.onTurn?.();
    this.#response_bytes += chunk.length;
    this.#writer?.push(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#settled) return;
    const { from, guard, onTurn } = this.#upstream;
    onTurn?.();
    const trailers = toCallerHeaders(toTexts(controller.rawTrailers), from, guard);
    if (trailers.length > 0) this.#response.addTrailers(toPairs(trailers));
    this.#writer?.flush();
    this.#response.end();
    this.#body.close();
    dropRest(this.#request);
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    if (this.#response.destroyed || (this.#request.destroyed && !this.#request.complete)) {
      this.#settle('caller_gone');
      return;
    }
    if (this.#status !== undefined) {
      this.#writer?.flush();
      this.#response.destroy();
      if (error instanceof RemoraError) this.#settle('cut', error);
      else this.#settle('upstream_broke');
      return;
    }
    const safe = onlyReads(this.#request.method) && this.#body.bytes === 0;
    const sent = { started: this.#controller !== undefined, answered: this.#answerSeen, safe };
    if (this.#mayRetry && this.#body.repeatable && isRetryable(error, sent)) {
      this.#finish();
      this.#resolve('not_sent');
      return;
    }
    this.#fail(toUpstreamError(error, this.#upstream.from, sent));
  }

  readonly #onClose = (): void => {
    if (this.#response.writableFinished) this.#settle('complete');
    else this.#cancel(new Error('the caller went away'), 'caller_gone');
  };

  readonly #onCut = (): void => {
    const reason: unknown = this.#upstream.signal?.reason;
    const error = reason instanceof RemoraError ? reason : new RemoraError('upstream_failed', 'the call was cut off');
    if (this.#status === undefined) {
      if (!this.#settled) this.#fail(error, error);
      return;
    }
    this.#cancel(error, 'cut');
    this.#response.destroy();
  };

  readonly #onDrain = (): void => this.#controller?.resume();

  #cancel(reason: Error, ended: ExchangeEnd): void {
    if (this.#settled) return;
    this.#settle(ended);
    this.#abort(reason);
  }

  /** A call that still waits for a connection has no controller yet; it is aborted when it gets one. */
  #abort(reason: Error): void {
    this.#cancelled = reason;
    this.#controller?.abort(reason);
  }

  #settle(ended: ExchangeEnd, reason?: RemoraError): void {
    if (this.#settled) return;
    this.#finish();
    const counts = { request_bytes: this.#body.bytes, response_bytes: this.#response_bytes };
    this.#resolve({ ended, status: this.#status, ...counts, ...(reason === undefined ? {} : { reason }) });
  }

  /** `reason`: why the upstream is to be let go. */
  #fail(error: unknown, reason?: Error): void {
    this.#finish();
    this.#body.close();
    this.#reject(error);
    if (reason !== undefined) this.#abort(reason);
  }

  #finish(): void {
    this.#settled = true;
    this.#response.off('close', this.#onClose);
    this.#response.off('drain', this.#onDrain);
    this.#upstream.signal?.removeEventListener('abort', this.#onCut);
  }
}

function ignore(): void {}

function onlyReads(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}
