// Sends a call with a large file over a lane, where the agent opens one, and every other call over the channel. A file that is read shows its
// size in the head of the answer: such a read begins over the channel, and again over the lane before anything of it has reached the caller.
import type { Dispatcher } from 'undici';
import type { LaneOperation } from '../../contract/channel.ts';
import { AS_ROOT_ALLOWED, AS_ROOT_HEADER } from '../../core/supervisor-wire.ts';
import { joinAnswerChunks } from '../../http/join-answer-chunks.ts';
import { Client } from '../../http/undici.ts';
import type { Lanes } from './lanes.ts';

/** A smaller one is over before a lane is open. */
const LARGE_BYTES = 2 * 1024 * 1024;
const OK = 200;
const PARTIAL = 206;

type Handler = Dispatcher.DispatchHandler;
type Controller = Dispatcher.DispatchController;
type Options = Dispatcher.DispatchOptions;

/** An interceptor for a dispatcher of the channel. @param operation of the calls that come this way. */
export function overLane(lanes: Lanes, operation: LaneOperation): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => {
    const headers = toFlat(options.headers);
    if (headers === undefined || !lanes.isOpen) return dispatch(options, handler);
    const follow: Follow = (lane, handler) => dispatchOn(lane, { ...options, headers }, handler);
    if (operation === 'readFile') {
      return dispatch(options, options.method === 'GET' ? new LargeAnswer({ lanes, follow, handler }) : handler);
    }
    if (lengthOf(headers) < LARGE_BYTES) return dispatch(options, handler);
    lanes.open(operation).then(
      (lane) => follow(lane, handler),
      () => dispatch(options, handler),
    );
    return true;
  };
}

type Lane = Awaited<ReturnType<Lanes['open']>>;
/** Makes the call over the lane. */
type Follow = (lane: Lane, handler: Handler) => void;

/** One call, and the lane is over. The agent, which reads nothing of it, would say as well that a caller over its channel may act as root. */
function dispatchOn(lane: Lane, options: Options & { readonly headers: string[] }, handler: Handler): void {
  let unused: Lane | undefined = lane;
  const client = new Client('http://supervisor', {
    // undici does not expect an answer before it has asked, and of a socket no more than a Duplex has.
    connect: joinAnswerChunks((_options, callback) => {
      const socket = unused;
      unused = undefined;
      if (socket === undefined || socket.destroyed) setImmediate(callback, new Error('the lane is gone'), null);
      else setImmediate(callback, null, socket as never);
    }),
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    allowH2: false,
  });
  const headers = [...options.headers, AS_ROOT_HEADER, AS_ROOT_ALLOWED];
  client.dispatch({ ...options, headers }, handler);
  client
    .close()
    .catch(() => undefined)
    .finally(() => lane.destroy());
}

interface LargeAnswerOptions {
  readonly lanes: Lanes;
  readonly follow: Follow;
  readonly handler: Handler;
}

/** Passes on an answer, or leaves it for the same one over a lane when its head says that it is large. */
class LargeAnswer implements Handler {
  readonly #given: LargeAnswerOptions;
  #isLeft = false;
  #isOver = false;

  constructor(given: LargeAnswerOptions) {
    this.#given = given;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.#given.handler.onRequestStart?.(controller, context);
  }

  onResponseStarted(): void {
    (this.#given.handler as { onResponseStarted?(): void }).onResponseStarted?.();
  }

  onResponseStart(controller: Controller, ...[status, headers, text]: [number, Headers, string?]): void {
    const { lanes, follow, handler } = this.#given;
    const pass = () => handler.onResponseStart?.(controller, status, headers, text);
    const isLarge = (status === OK || status === PARTIAL) && Number(headers['content-length'] ?? 0) >= LARGE_BYTES;
    if (!isLarge || !lanes.isOpen) {
      pass();
      return;
    }
    controller.pause();
    lanes.open('readFile').then(
      (lane) => {
        if (this.#isOver || controller.aborted) {
          lane.destroy();
          return;
        }
        this.#isLeft = true;
        follow(lane, handler);
        controller.abort(new Error('the answer comes over a lane'));
      },
      () => {
        if (this.#isOver) return;
        pass();
        controller.resume();
      },
    );
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#given.handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: Headers): void {
    this.#isOver = true;
    this.#given.handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    if (this.#isLeft) return;
    this.#isOver = true;
    this.#given.handler.onResponseError?.(controller, error);
  }
}

type Headers = Record<string, string | string[] | undefined>;

/** Undefined for a form that no call of this platform has. */
function toFlat(headers: Options['headers']): string[] | undefined {
  return Array.isArray(headers) && headers.every((item) => typeof item === 'string') ? headers : undefined;
}

/** The length that the headers declare; 0 when they declare none. */
function lengthOf(headers: readonly string[]): number {
  const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'content-length');
  return at < 0 ? 0 : Number(headers[at + 1]);
}
