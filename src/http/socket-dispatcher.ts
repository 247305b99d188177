// Sends the exchanges of the streaming proxy to a server of Remora's own at a Unix socket, by node:http: a process that has no other use for
// undici does not load it. The body of a caller is read when that server says that it wants it.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { nodeHttp } from './node-http.ts';

type Handler = Dispatcher.DispatchHandler;

/** `path`: of the socket. Each exchange has a connection of its own. */
export function createSocketDispatcher(path: string): Pick<Dispatcher, 'dispatch'> {
  return {
    dispatch(options, handler) {
      new SocketExchange(path, options, handler).start();
      return true;
    },
  };
}

class SocketExchange implements Dispatcher.DispatchController {
  readonly #body: Buffer | Readable | null;
  readonly #handler: Handler;
  readonly #onward: ClientRequest;
  #answer: IncomingMessage | undefined;
  #isOver = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  rawHeaders: string[] = [];
  rawTrailers: string[] = [];

  constructor(
    socketPath: string,
    { method, path, headers, body, upgrade }: Dispatcher.DispatchOptions,
    handler: Handler,
  ) {
    this.#body = body as Buffer | Readable | null;
    this.#handler = handler;
    const more = ['host', 'remora'];
    if (typeof upgrade === 'string') more.push('connection', 'upgrade', 'upgrade', upgrade);
    if (this.#isStreamed()) more.push('expect', '100-continue');
    const all = [...(headers as readonly string[]), ...more];
    this.#onward = nodeHttp.request({ socketPath, method, path, headers: all, agent: false });
  }

  start(): void {
    const onward = this.#onward;
    onward.once('socket', (socket) => socket.once('connect', () => this.#handler.onRequestStart?.(this, undefined)));
    onward.once('response', (answer) => this.#onAnswer(answer));
    onward.once('upgrade', (answer, socket, head) => {
      this.#isOver = true;
      this.rawHeaders = answer.rawHeaders;
      if (head.length > 0) socket.unshift(head);
      this.#handler.onRequestUpgrade?.(this, answer.statusCode ?? 0, answer.headers, socket);
    });
    onward.on('error', (error) => this.#fail(error));
    if (this.#isStreamed()) this.#passBody(this.#body as Readable);
    else onward.end(this.#body);
  }

  pause(): void {
    this.paused = true;
    this.#answer?.pause();
  }

  resume(): void {
    this.paused = false;
    this.#answer?.resume();
  }

  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#onward.destroy(reason);
  }

  #isStreamed(): boolean {
    return this.#body !== null && !Buffer.isBuffer(this.#body);
  }

  #passBody(body: Readable): void {
    // Cut short here, it must not look whole there.
    body.once('error', (error) => this.#onward.destroy(error));
    this.#onward.once('continue', () => body.pipe(this.#onward));
    this.#onward.flushHeaders();
  }

  #onAnswer(answer: IncomingMessage): void {
    this.#answer = answer;
    this.rawHeaders = answer.rawHeaders;
    const handler = this.#handler;
    answer.on('data', (chunk: Buffer) => handler.onResponseData?.(this, chunk));
    answer.once('end', () => {
      this.#isOver = true;
      this.rawTrailers = answer.rawTrailers;
      handler.onResponseEnd?.(this, answer.trailers);
      // What is left of the body, and of this connection, nobody needs.
      this.#onward.destroy();
    });
    answer.on('error', (error) => this.#fail(error));
    handler.onResponseStart?.(this, answer.statusCode ?? 0, answer.headers, answer.statusMessage);
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseError?.(this, error);
  }
}
