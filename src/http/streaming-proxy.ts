// One exchange passed through: the caller's request to an upstream, its answer straight into the caller's response. Bytes are
// never re-parsed, both directions have back-pressure, and whichever side goes away takes the other with it.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Dispatcher } from 'undici';
import { toCallerHeaders } from '../core/header-hygiene.ts';
import { RemoraError } from '../core/remora-error.ts';
import { type CallerBody, readCallerBody } from './caller-body.ts';
import { isRetryable, toUpstreamError } from './upstream-error.ts';

/** A model that thinks before its first byte may take minutes; ten is what the clients of the large providers wait. */
export const HEADERS_TIMEOUT_MS = 600_000;
export const BODY_CAP_BYTES = 32 * 1024 * 1024;
/** How long the rest of a body that nobody wants may keep coming after the answer, before the connection is cut. */
const LINGER_MS = 5_000;

export interface ExchangeUpstream {
  /** Read once for each try, so that a getter can give the pool of now. */
  readonly dispatcher: Dispatcher;
  readonly origin: string;
  /** Path and query, sent byte for byte. */
  readonly path: string;
  /** Flat, made by `toUpstreamHeaders`. */
  readonly headers: string[];
  /** Who answers, for messages and for whose marker of errors counts. */
  readonly from: 'provider' | 'platform';
  /** Cuts the exchange. Before the answer has begun its reason is thrown, if it is a RemoraError. */
  readonly signal?: AbortSignal;
  /** Until the status line; default ten minutes. There is no limit on the time of a body. */
  readonly headersTimeout_ms?: number;
  /** Default 32 MiB. */
  readonly bodyCap_bytes?: number;
  /** Gets the headers of the answer, flat; what it returns gets each piece of the body, and must neither keep nor change it. */
  readonly observe?: (headers: readonly string[]) => ((chunk: Uint8Array) => void) | undefined;
}

/** `complete`: all of it went out. `cut`: ended by `signal`. In all but the first case the caller's connection is broken off. */
export type ExchangeEnd = 'complete' | 'caller_gone' | 'upstream_broke' | 'cut';

export interface ExchangeOutcome {
  readonly ended: ExchangeEnd;
  /** Of the upstream; `undefined` when the caller went away before. */
  readonly status: number | undefined;
  readonly request_bytes: number;
  readonly response_bytes: number;
}

/**
 * Resolves when the exchange is over. Throws only while nothing has been answered: `upstream_failed`, `upstream_timeout`,
 * `payload_too_large`, or the signal's reason. Tries again once, and only when no byte was sent.
 */
export async function streamExchange(
  request: IncomingMessage,
  response: ServerResponse,
  upstream: ExchangeUpstream,
): Promise<ExchangeOutcome> {
  response.on('error', () => undefined);
  const body = await readCallerBody(request, response, upstream.bodyCap_bytes ?? BODY_CAP_BYTES);
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
  #onPiece: ((chunk: Uint8Array) => void) | undefined;
  #mayRetry = false;
  #settled = false;
  #resolve: (outcome: ExchangeOutcome | 'not_sent') => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(request: IncomingMessage, response: ServerResponse, upstream: ExchangeUpstream, body: CallerBody) {
    this.#request = request;
    this.#response = response;
    this.#upstream = upstream;
    this.#body = body;
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
    const { dispatcher, origin, path, headers, headersTimeout_ms } = this.#upstream;
    const options = {
      origin,
      path,
      method: this.#request.method ?? 'GET',
      headers,
      body: this.#body.open(),
      headersTimeout: headersTimeout_ms ?? HEADERS_TIMEOUT_MS,
      bodyTimeout: 0,
    };
    dispatcher.dispatch(options, this);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#cancelled !== undefined) controller.abort(this.#cancelled);
  }

  onResponseStarted(): void {
    this.#answerSeen = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    message: string | undefined,
  ): void {
    if (status < 200 || this.#settled) return;
    const headers = toCallerHeaders(toTexts(controller.rawHeaders), this.#upstream.from);
    if (message !== undefined && /^[\t -~]*$/.test(message)) this.#response.writeHead(status, message, headers);
    else this.#response.writeHead(status, headers);
    this.#status = status;
    this.#onPiece = this.#upstream.observe?.(headers);
    // Headers alone go out at once, but in one write with a body that came in the same read.
    process.nextTick(() => {
      if (this.#response_bytes === 0 && !this.#response.writableEnded) this.#response.flushHeaders();
    });
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#settled) return;
    this.#response_bytes += chunk.length;
    if (!this.#response.write(chunk)) controller.pause();
    this.#onPiece?.(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#settled) return;
    const trailers = toCallerHeaders(toTexts(controller.rawTrailers), this.#upstream.from);
    if (trailers.length > 0) this.#response.addTrailers(toPairs(trailers));
    this.#response.end(() => this.#settle('complete'));
    this.#dropRest();
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#settled) return;
    if (this.#response.destroyed || (this.#request.destroyed && !this.#request.complete)) {
      this.#settle('caller_gone');
      return;
    }
    if (this.#status !== undefined) {
      this.#response.destroy();
      this.#settle('upstream_broke');
      return;
    }
    const sent = { started: this.#controller !== undefined, answered: this.#answerSeen };
    const safe = isSafe(this.#request.method) && this.#body.bytes === 0;
    if (this.#mayRetry && this.#body.repeatable && isRetryable(error, { ...sent, safe })) {
      this.#finish();
      this.#resolve('not_sent');
      return;
    }
    this.#fail(toUpstreamError(error, this.#upstream.from));
  }

  readonly #onClose = (): void => {
    if (this.#response.writableFinished) this.#settle('complete');
    else this.#cancel(new Error('the caller went away'), 'caller_gone');
  };

  readonly #onCut = (): void => {
    const reason: unknown = this.#upstream.signal?.reason;
    const error = reason instanceof RemoraError ? reason : new RemoraError('upstream_failed', 'the call was cut off');
    if (this.#status === undefined) {
      if (this.#settled) return;
      this.#fail(error);
      this.#abort(error);
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

  #settle(ended: ExchangeEnd): void {
    if (this.#settled) return;
    this.#finish();
    const request_bytes = this.#body.bytes;
    this.#resolve({ ended, status: this.#status, request_bytes, response_bytes: this.#response_bytes });
  }

  #fail(error: unknown): void {
    this.#finish();
    this.#body.close();
    this.#reject(error);
  }

  #finish(): void {
    this.#settled = true;
    this.#response.off('close', this.#onClose);
    this.#response.off('drain', this.#onDrain);
    this.#upstream.signal?.removeEventListener('abort', this.#onCut);
  }

  /** An upstream may answer before it has the whole body. Left unread, the rest would block the caller's connection. */
  #dropRest(): void {
    const request = this.#request;
    this.#body.close();
    if (request.complete) return;
    const cut = setTimeout(() => request.destroy(), LINGER_MS);
    request.once('close', () => clearTimeout(cut)).once('end', () => clearTimeout(cut));
    request.resume();
  }
}

function isSafe(method: string | undefined): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

/** Raw headers as undici keeps them, one byte in each character. */
function toTexts(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  return raw.map((item) => (typeof item === 'string' ? item : item.toString('latin1')));
}

function toPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push([flat[index] ?? '', flat[index + 1] ?? '']);
  return pairs;
}
