// One reader of an event stream: NDJSON or server-sent events, keep-alive, and a cap after which a slow reader is cut.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorCode } from '../contract/errors.ts';

export const KEEP_ALIVE_MS = 15_000;
/** What may wait for one reader before it is cut. */
export const READER_CAP_BYTES = 1024 * 1024;
/** How long a cut reader has to take what is waiting for it. */
const CUT_GRACE_MS = 5_000;

export interface EventSink<T> {
  /** Starts the answer if it has not begun: status and headers are sent, keep-alives begin. */
  open(headers?: Readonly<Record<string, string>>): void;
  /** Sends one event. Never blocks; a reader over the cap is cut. */
  send(event: T): void;
  /** Sends an event that is already JSON text, so that many readers share one serialization. */
  sendText(json: string): void;
  /** Ends the stream cleanly. */
  end(): void;
  /** Sends `{"type":"error","error":code,"message":…}` as the last line and ends. */
  fail(code: ErrorCode | 'slow_reader', message: string): void;
  /** Runs once, when the reader is gone or the stream has ended. */
  onClose(listener: () => void): void;
  readonly closed: boolean;
}

export interface EventSinkOptions {
  readonly keepAlive_ms?: number;
  readonly cap_bytes?: number;
  /** The content type of the plain form; `application/x-ndjson` unless a document says otherwise. */
  readonly type?: string;
}

/** `keepalive` of a query, in seconds: clamped to 1–300, and the default for what is not a number (lessons.md, 8). */
export function clampKeepAlive(seconds: string | undefined): number {
  const value = Number(seconds ?? Number.NaN);
  if (Number.isNaN(value)) return KEEP_ALIVE_MS;
  return Math.min(300, Math.max(1, value)) * 1_000;
}

export class ResponseSink<T> implements EventSink<T> {
  readonly #response: ServerResponse;
  readonly #events: boolean;
  readonly #cap: number;
  readonly #type: string;
  readonly #keepAlive: NodeJS.Timeout;
  readonly #listeners: (() => void)[] = [];
  #state: 'idle' | 'open' | 'ending' | 'closed' = 'idle';

  constructor(request: IncomingMessage, response: ServerResponse, options: EventSinkOptions = {}) {
    this.#response = response;
    this.#events = acceptsEventStream(request.headers.accept);
    this.#cap = options.cap_bytes ?? READER_CAP_BYTES;
    this.#type = options.type ?? 'application/x-ndjson';
    this.#keepAlive = setInterval(() => this.#keep(), options.keepAlive_ms ?? KEEP_ALIVE_MS);
    this.#keepAlive.unref();
    response.once('close', () => this.#close());
  }

  get closed(): boolean {
    return this.#state === 'ending' || this.#state === 'closed';
  }

  open(headers: Readonly<Record<string, string>> = {}): void {
    if (this.#state !== 'idle') return;
    this.#state = 'open';
    this.#response.writeHead(200, {
      'content-type': this.#events ? 'text/event-stream' : this.#type,
      'cache-control': 'no-cache',
      'x-content-type-options': 'nosniff',
      'x-accel-buffering': 'no',
      ...headers,
    });
    this.#response.flushHeaders();
    if (this.#response.req.method === 'HEAD') this.end();
  }

  send(event: T): void {
    this.sendText(JSON.stringify(event));
  }

  sendText(json: string): void {
    this.open();
    if (this.#state !== 'open') return;
    if (this.#response.writableLength > this.#cap) {
      this.fail('slow_reader', `more than ${this.#cap} bytes were waiting for this reader; read faster and reconnect`);
      return;
    }
    this.#response.write(this.#frame(json));
  }

  end(): void {
    if (this.#state === 'closed' || this.#state === 'ending') return;
    this.open();
    if (this.closed) return;
    this.#finish(undefined);
  }

  fail(code: ErrorCode | 'slow_reader', message: string): void {
    if (this.closed) return;
    this.open();
    this.#finish(this.#frame(JSON.stringify({ type: 'error', error: code, message })));
  }

  onClose(listener: () => void): void {
    if (this.#state === 'closed') listener();
    else this.#listeners.push(listener);
  }

  #frame(json: string): string {
    return this.#events ? `data: ${json}\n\n` : `${json}\n`;
  }

  #keep(): void {
    if (this.#state === 'open' && this.#response.writableLength === 0)
      this.#response.write(this.#events ? ':\n\n' : '\n');
  }

  #finish(last: string | undefined): void {
    this.#state = 'ending';
    clearInterval(this.#keepAlive);
    this.#notify();
    if (last === undefined) this.#response.end();
    else this.#response.end(last);
    const deadline = setTimeout(() => this.#response.destroy(), CUT_GRACE_MS);
    deadline.unref();
    this.#response.once('close', () => clearTimeout(deadline));
  }

  #close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    clearInterval(this.#keepAlive);
    this.#notify();
  }

  #notify(): void {
    for (const listener of this.#listeners.splice(0)) listener();
  }
}

function acceptsEventStream(accept: string | undefined): boolean {
  return accept !== undefined && /(?:^|,)\s*text\/event-stream\s*(?:;|,|$)/i.test(accept);
}
