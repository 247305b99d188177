// One call whose body is streamed, over a connection of its own: the head goes out at once, and trailers follow the body. undici waits with
// the head for the first piece of a body, and has no way to send trailers; this takes the place of its dispatcher for such a call.
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import type { Dispatcher } from 'undici';
import { nodeHttp } from './node-http.ts';
import { toPairs } from './raw-headers.ts';

export interface StreamCallOptions {
  /** Opens the connection, which is closed after the call. */
  readonly connect: () => Promise<Duplex>;
  /** The body has no length. */
  readonly isChunked: boolean;
  /** The caller waits for a 100 before it sends the body: the upstream is asked. */
  readonly isAsking: boolean;
  /** The trailers, flat, once a body in chunks has ended. */
  readonly trailers: () => readonly string[];
}

type Handler = Dispatcher.DispatchHandler;
type Body = Readable | Buffer | null | undefined;

/** How long an upstream that is asked for a 100 is waited for: old ones never send it. */
const CONTINUE_MS = 1_000;

/** See `ExchangeUpstream.dispatcher`. A body is a stream, a Buffer, or none. */
export function createStreamCall(options: StreamCallOptions): Pick<Dispatcher, 'dispatch'> {
  return {
    dispatch(call, handler) {
      new StreamCall(handler, options).start(call);
      return true;
    },
  };
}

class StreamCall implements Dispatcher.DispatchController {
  readonly #handler: Handler;
  readonly #options: StreamCallOptions;
  #call: ClientRequest | undefined;
  #body: Readable | undefined;
  #answer: IncomingMessage | undefined;
  #isOver = false;
  aborted = false;
  paused = false;
  reason: Error | null = null;
  rawHeaders: string[] = [];
  rawTrailers: string[] = [];

  constructor(handler: Handler, options: StreamCallOptions) {
    this.#handler = handler;
    this.#options = options;
  }

  start(call: Dispatcher.DispatchOptions): void {
    // Kept before it is sent: a call that fails while it is dialled, or waits for a 100, has one to end as well.
    if (call.body instanceof Readable) this.#body = call.body;
    this.#options.connect().then(
      (socket) => this.#send(call, socket),
      (error: Error) => this.#fail(error),
    );
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
    this.aborted = true;
    this.reason = reason;
    this.#fail(reason);
  }

  #send({ method, path, headers, body }: Dispatcher.DispatchOptions, socket: Duplex): void {
    const { isChunked, isAsking } = this.#options;
    const flat = [...(headers as string[])];
    if (isChunked) flat.push('transfer-encoding', 'chunked');
    if (isAsking) flat.push('expect', '100-continue');
    const call = nodeHttp.request({ createConnection: () => socket as Socket, method, path, headers: flat });
    this.#call = call;
    call.on('information', ({ statusCode, rawHeaders }) => {
      if (statusCode === 100 || this.#isOver) return;
      this.rawHeaders = rawHeaders;
      this.#handler.onResponseStart?.(this, statusCode, {});
    });
    call.once('response', (answer) => this.#onAnswer(answer));
    call.on('error', (error) => this.#fail(error));
    call.once('close', () => this.#fail(new BrokenOff()));
    this.#handler.onRequestStart?.(this, undefined);
    if (this.aborted) return;
    call.flushHeaders();
    const send = () => this.#sendBody(call, body as Body);
    if (isAsking) awaitContinue(call, send);
    else send();
  }

  #sendBody(call: ClientRequest, body: Body): void {
    if (!(body instanceof Readable)) {
      call.end(body);
      return;
    }
    body.on('data', (chunk: Buffer) => {
      if (!call.write(chunk)) body.pause();
    });
    call.on('drain', () => body.resume());
    body.once('end', () => {
      if (this.#options.isChunked) call.addTrailers(toPairs(this.#options.trailers()));
      call.end();
    });
    body.once('error', (error) => call.destroy(error));
  }

  #onAnswer(answer: IncomingMessage): void {
    if (this.#isOver) return;
    this.#answer = answer;
    this.rawHeaders = answer.rawHeaders;
    this.#handler.onResponseStarted?.();
    this.#handler.onResponseStart?.(this, answer.statusCode ?? 0, answer.headers, answer.statusMessage);
    answer.on('data', (chunk: Buffer) => {
      if (!this.#isOver) this.#handler.onResponseData?.(this, chunk);
    });
    answer.once('error', (error) => this.#fail(error));
    answer.once('end', () => {
      if (this.#isOver) return;
      this.#isOver = true;
      this.rawTrailers = answer.rawTrailers;
      this.#handler.onResponseEnd?.(this, {});
      this.#call?.destroy();
    });
    if (this.paused) answer.pause();
  }

  #fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#call?.destroy();
    this.#body?.destroy();
    this.#handler.onResponseError?.(this, error);
  }
}

/** Runs `send` once the upstream wants the body, or says nothing; not after an answer. */
function awaitContinue(call: ClientRequest, send: () => void): void {
  const late = setTimeout(goOn, CONTINUE_MS);
  function goOn(): void {
    stop();
    send();
  }
  function stop(): void {
    clearTimeout(late);
    call.off('continue', goOn).off('response', stop).off('close', stop);
  }
  call.once('continue', goOn).once('response', stop).once('close', stop);
}

class BrokenOff extends Error {
  readonly code = 'ECONNRESET';

  constructor() {
    super('the connection was closed before the answer was complete');
  }
}
