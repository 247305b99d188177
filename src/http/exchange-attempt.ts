// One try of an exchange: a request to the upstream, and its answer straight into the caller's response.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Dispatcher } from 'undici';
import { askNotToHold } from '../core/http/ask-not-to-hold.ts';
import { RemoraError } from '../core/remora-error.ts';
import { AnswerWriter } from './answer-writer.ts';
import type { CallerBody } from './caller-body.ts';
import { dropRest } from './drop-rest.ts';
import type { ExchangeEnd, ExchangeOutcome } from './exchange-outcome.ts';
import { type ExchangeUpstream, HEADERS_TIMEOUT_MS } from './exchange-upstream.ts';
import { InformationalLimit } from './informational-limit.ts';
import { InformationalWriter } from './informational-writer.ts';
import { toPairs, toTexts } from './raw-headers.ts';
import { switchToTunnel } from './switch-to-tunnel.ts';
import { switchedSockets } from './switched-sockets.ts';
import { TUNNEL_IDLE_MS } from './tunnel.ts';
import { isRetryable, toUpstreamError } from './upstream-error.ts';

const NO_CONTENT = 204;
const NOT_MODIFIED = 304;

export interface AttemptParts {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly upstream: ExchangeUpstream;
  /** What goes upstream. */
  readonly headers: string[];
  readonly body: CallerBody;
}

/** Throws through `run`, see `streamExchange`. */
export class ExchangeAttempt implements Dispatcher.DispatchHandler {
  /** How many of this process have begun and are not over. */
  static #underWay = 0;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upstream: ExchangeUpstream;
  readonly #headers: string[];
  readonly #body: CallerBody;
  #controller: Dispatcher.DispatchController | undefined;
  #cancelled: Error | undefined;
  #answerSeen = false;
  #status: number | undefined;
  #response_bytes = 0;
  #informational: InformationalLimit | undefined;
  #informationalWriter: InformationalWriter | undefined;
  #writer: AnswerWriter | undefined;
  #settled = false;
  readonly #resolve: (outcome: ExchangeOutcome) => void;
  readonly #reject: (error: unknown) => void;
  readonly #onNotSent: (() => void) | undefined;

  /** `onNotSent` is called in place of the other two when another try may be made. */
  constructor(
    { request, response, upstream, headers, body }: AttemptParts,
    resolve: (outcome: ExchangeOutcome) => void,
    reject: (error: unknown) => void,
    onNotSent?: () => void,
  ) {
    this.#request = request;
    this.#response = response;
    this.#upstream = upstream;
    this.#headers = headers;
    this.#body = body;
    this.#resolve = resolve;
    this.#reject = reject;
    this.#onNotSent = onNotSent;
  }

  run(): void {
    ExchangeAttempt.#underWay += 1;
    this.#response.on('close', this.#onClose);
    this.#upstream.signal?.addEventListener('abort', this.#onCut);
    if (this.#response.destroyed) this.#onClose();
    else if (this.#upstream.signal?.aborted) this.#onCut();
    else this.#dispatch();
  }

  #dispatch(): void {
    const { origin, path, headersTimeout_ms, idleTimeout_ms, tunnel } = this.#upstream;
    const options = {
      origin,
      path,
      method: this.#request.method ?? 'GET',
      headers: this.#headers,
      body: this.#body.open(),
      headersTimeout: headersTimeout_ms ?? HEADERS_TIMEOUT_MS,
      bodyTimeout: idleTimeout_ms ?? 0,
      upgrade: tunnel === undefined ? null : 'websocket',
    };
    this.#upstream.dispatcher().dispatch(options, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cancelled !== undefined) controller.abort(this.#cancelled);
  }

  onResponseStarted(): void {
    this.#answerSeen = true;
  }

  onRequestUpgrade(controller: Dispatcher.DispatchController, status: number, _headers: unknown, socket: Duplex): void {
    switchedSockets.add(socket);
    const { tunnel, from, headers: policy, signal } = this.#upstream;
    if (this.#settled || tunnel === undefined) {
      socket.on('error', () => undefined).destroy();
      return;
    }
    this.#status = status;
    this.#finish();
    const { upgrade, key, observer, idle_ms = TUNNEL_IDLE_MS } = tunnel;
    const headers = toTexts(controller.rawHeaders);
    try {
      const limits = { signal, idle_ms, observer };
      const running = switchToTunnel({ upgrade, key, upstream: socket, headers, policy, from, ...limits });
      running.then((outcome) => this.#resolve({ status, ...outcome }), this.#reject);
    } catch (error) {
      this.#reject(error);
    }
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, _: unknown, message?: string): void {
    if (this.#settled) return;
    const { headers: policy, onTurn } = this.#upstream;
    onTurn?.();
    const raw = toTexts(controller.rawHeaders);
    if (status < 200) {
      this.#onInformational(controller, status, raw);
      return;
    }
    const headers = policy.response(raw);
    if (this.#upstream.asksNotToHold === true && hasBody(this.#request.method, status)) askNotToHold(headers);
    const isSafe = /^[\t -~]*$/.test(message ?? '') && policy.mayShow(message ?? '');
    this.#response.writeHead(status, isSafe ? message : undefined, headers);
    this.#status = status;
    this.#writer = new AnswerWriter(this.#response, controller, this.#upstream.observe?.(headers));
  }

  #onInformational(controller: Dispatcher.DispatchController, status: number, raw: readonly string[]): void {
    this.#informational ??= new InformationalLimit(this.#upstream.from);
    const error = this.#informational.take(raw);
    if (error !== undefined) {
      this.#fail(error, error);
      return;
    }
    if (this.#request.httpVersion !== '1.1') return;
    this.#informationalWriter ??= new InformationalWriter(this.#response);
    this.#informationalWriter.write(status, controller.rawHeaders, this.#upstream.headers.response(raw));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#upstream.onTurn?.();
    this.#response_bytes += chunk.length;
    this.#writer?.push(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#settled) return;
    const { headers: policy, onTurn } = this.#upstream;
    onTurn?.();
    const trailers = policy.response(toTexts(controller.rawTrailers));
    if (trailers.length > 0) this.#response.addTrailers(toPairs(trailers));
    if (this.#writer === undefined) this.#response.end();
    else this.#writer.end(ExchangeAttempt.#underWay === 1);
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
    if (this.#onNotSent !== undefined && this.#body.repeatable && isRetryable(error, sent)) {
      this.#finish();
      this.#onNotSent();
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
    const [request_bytes, response_bytes] = [this.#body.bytes, this.#response_bytes];
    const outcome = { ended, status: this.#status, request_bytes, response_bytes };
    this.#resolve(reason === undefined ? outcome : { ...outcome, reason });
  }

  /** `reason`: why the upstream is to be let go. */
  #fail(error: unknown, reason?: Error): void {
    this.#finish();
    this.#reject(error);
    if (reason !== undefined) this.#abort(reason);
  }

  #finish(): void {
    if (!this.#settled) ExchangeAttempt.#underWay -= 1;
    this.#settled = true;
    // Nobody else does while the upstream is dialled, or before another try that is never made.
    this.#body.close();
    this.#response.off('close', this.#onClose);
    this.#upstream.signal?.removeEventListener('abort', this.#onCut);
  }
}

function hasBody(method: string | undefined, status: number): boolean {
  return method !== 'HEAD' && status !== NO_CONTENT && status !== NOT_MODIFIED;
}

function onlyReads(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD';
}
