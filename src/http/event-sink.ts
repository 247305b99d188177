// One reader of an event stream: NDJSON or server-sent events, keep-alive, and caps after which a slow reader is cut.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../contract/errors.ts';
import { notToHold } from '../core/http/ask-not-to-hold.ts';
import { acceptsEventStream } from './accepts-event-stream.ts';
import { type MapError, toErrorAnswer } from './error-answer.ts';
import { StreamState } from './stream-state.ts';

export const KEEP_ALIVE_MS = 15_000;
/** How many bytes may wait for a reader that takes none for `READER_STALL_MS`. */
export const READER_CAP_BYTES = 1024 * 1024;
/**
 * How many bytes may wait for any reader, however quick: a larger burst cuts the reader at once, so that memory stays bounded.
 */
export const READER_HARD_CAP_BYTES = 8 * 1024 * 1024;
export const READER_STALL_MS = 5_000;
/** How long a cut reader has to take what is waiting for it; the last line is the reason. */
const CUT_GRACE_MS = 10_000;

export interface EventSink<T> {
  /** Starts the answer if it has not begun: status and headers are sent, keep-alives begin. */
  open(headers?: Readonly<Record<string, string>>): void;
  /** Sends one event. Never blocks; a reader over the cap is cut. */
  send(event: T): void;
  /** Sends an event that is already JSON text, so that many readers share one serialization. */
  sendText(json: string): void;
  /** Sends several such events in one write. One list given to many readers is framed once, and its bytes are shared. */
  sendTexts(jsons: readonly string[]): void;
  /** Ends the stream cleanly. */
  end(): void;
  /** Sends `{"type":"error","error":code,"message":…}` as the last line and ends. */
  fail(code: ErrorCode | 'slow_reader', message: string): void;
  /** Runs once, when the reader is gone or the stream has ended; at once when that is already so. */
  onClose(listener: () => void): void;
  readonly closed: boolean;
  /** Bytes that were sent and not taken yet. */
  readonly waiting_bytes: number;
}

export interface EventSinkOptions {
  /** Infinity = none. */
  readonly keepAlive_ms?: number;
  readonly cap_bytes?: number;
  readonly hardCap_bytes?: number;
  /** How long a reader may take nothing while more than `cap_bytes` wait for it. */
  readonly stall_ms?: number;
  readonly grace_ms?: number;
  /** The content type of the plain form; `application/x-ndjson` by default. */
  readonly type?: string;
  /** Gets the errors that an `onClose` listener throws. */
  readonly onError?: (error: unknown) => void;
  readonly mapError?: MapError | undefined;
}

/** What has no default. */
type Optional = 'onError' | 'mapError';
export type SinkSettings<O extends EventSinkOptions> = Required<Omit<O, Optional>> & Pick<O, Optional>;

/** `keepalive` of a query, in seconds: clamped to 1–300, and the default for a text that is no number. */
export function clampKeepAlive(seconds: string | undefined): number {
  const value = seconds === undefined || seconds.trim() === '' ? Number.NaN : Number(seconds);
  if (Number.isNaN(value)) return KEEP_ALIVE_MS;
  return Math.min(300, Math.max(1, value)) * 1_000;
}

export class ResponseSink<T> implements EventSink<T> {
  readonly #response: ServerResponse;
  readonly #isEvents: boolean;
  readonly #options: SinkSettings<EventSinkOptions>;
  readonly #state: StreamState;
  #isWatched = false;

  constructor(request: IncomingMessage, response: ServerResponse, options: EventSinkOptions = {}) {
    this.#response = response;
    this.#options = {
      keepAlive_ms: KEEP_ALIVE_MS,
      cap_bytes: READER_CAP_BYTES,
      hardCap_bytes: READER_HARD_CAP_BYTES,
      stall_ms: READER_STALL_MS,
      grace_ms: CUT_GRACE_MS,
      type: 'application/x-ndjson',
      ...options,
    };
    this.#isEvents = acceptsEventStream(request.headers.accept, this.#options.type);
    this.#state = new StreamState(this.#options);
    if (response.destroyed) this.#state.close();
    else response.once('close', () => this.#state.close());
  }

  get closed(): boolean {
    return this.#state.isOver;
  }

  get waiting_bytes(): number {
    return this.#response.writableLength;
  }

  open(headers: Readonly<Record<string, string>> = {}): void {
    if (!this.#state.open()) return;
    this.#response.writeHead(200, {
      'content-type': this.#isEvents ? 'text/event-stream' : this.#options.type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      ...notToHold,
      ...headers,
    });
    this.#response.flushHeaders();
    this.#state.keepAlive(this.#options.keepAlive_ms, () => this.#keep());
    if (this.#response.req.method === 'HEAD') this.end();
  }

  send(event: T): void {
    this.sendText(JSON.stringify(event));
  }

  sendText(json: string): void {
    this.#write((isEvents) => (isEvents ? frames.events(json) : frames.lines(json)));
  }

  sendTexts(jsons: readonly string[]): void {
    if (jsons.length > 0) this.#write((isEvents) => (isEvents ? batches.events(jsons) : batches.lines(jsons)));
  }

  #write(toFrame: (isEvents: boolean) => string | Buffer): void {
    this.open();
    if (!this.#state.isOpen) return;
    const waiting_bytes = this.#response.writableLength;
    if (waiting_bytes > this.#options.hardCap_bytes) {
      this.#cut(`more than ${this.#options.hardCap_bytes} bytes were waiting for this reader`);
      return;
    }
    this.#response.write(toFrame(this.#isEvents));
    if (waiting_bytes > this.#options.cap_bytes) this.#watch();
  }

  end(): void {
    if (this.closed) return;
    this.open();
    this.#finish(undefined);
  }

  fail(code: ErrorCode | 'slow_reader', message: string): void {
    if (this.closed) return;
    this.open();
    const json = JSON.stringify({ type: 'error', error: code, message });
    this.#finish(this.#isEvents ? frames.events(json) : frames.lines(json));
  }

  /** Does what `fail` does, with the public form of any error. */
  failWith(error: unknown): void {
    const { body } = toErrorAnswer(error, this.#options.mapError);
    this.fail(body.error as ErrorCode, body.message);
  }

  onClose(listener: () => void): void {
    this.#state.onClose(listener);
  }

  #keep(): void {
    if (this.#response.writableLength === 0) this.#response.write(this.#isEvents ? ':\n\n' : '\n');
  }

  /**
   * The reader is over the cap: it must now take something every `stall_ms`. node:net judges that by the bytes that the kernel
   * has taken, so that a slow reader that does read is left alone.
   */
  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const onStall = () => {
      this.#unwatch();
      if (this.#response.writableLength > this.#options.cap_bytes)
        this.#cut(`more than ${this.#options.cap_bytes} bytes were waiting for this reader and it took none of them`);
    };
    this.#response.setTimeout(this.#options.stall_ms, onStall);
    this.#response.on('drain', this.#unwatch);
  }

  readonly #unwatch = (): void => {
    if (!this.#isWatched) return;
    this.#isWatched = false;
    this.#response.off('drain', this.#unwatch);
    this.#response.removeAllListeners('timeout');
    this.#response.setTimeout(0);
  };

  #cut(reason: string): void {
    this.fail('slow_reader', `${reason}; read faster and reconnect`);
  }

  #finish(last: string | undefined): void {
    this.#state.finish(this.#response, () => {
      this.#unwatch();
      if (last === undefined) this.#response.end();
      else this.#response.end(last);
    });
  }
}

/** The last frame of each form is kept, so that a thousand readers of one event hold one string. */
const frames = {
  lines: remember((json: string) => `${json}\n`),
  events: remember((json: string) => `data: ${json}\n\n`),
};

const batches = {
  lines: remember((jsons: readonly string[]) => Buffer.from(`${jsons.join('\n')}\n`)),
  events: remember((jsons: readonly string[]) => Buffer.from(`data: ${jsons.join('\n\ndata: ')}\n\n`)),
};

function remember<T, F>(toFrame: (content: T) => F): (content: T) => F {
  let last: { readonly content: T; readonly frame: F } | undefined;
  return (content) => {
    if (last?.content !== content) last = { content, frame: toFrame(content) };
    return last.frame;
  };
}
