// One reader of an event stream over a WebSocket: each event is a text frame, and nothing else is. What is said about the stream
// itself, keep-alive and the reason of its end, stands in control frames, because clients take every text frame for an event.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ErrorCode } from '../contract/errors.ts';
import { GOING_AWAY, POLICY_VIOLATION, toCloseCode } from '../core/close-frame.ts';
import { RemoraError } from '../core/remora-error.ts';
import { findHandshakeKey } from '../core/websocket-handshake.ts';
import {
  type EventSink,
  type EventSinkOptions,
  KEEP_ALIVE_MS,
  READER_CAP_BYTES,
  READER_HARD_CAP_BYTES,
  READER_STALL_MS,
} from './event-sink.ts';
import { toErrorAnswer } from './reply.ts';
import { StreamLife } from './stream-life.ts';
import type { Upgrade } from './upgrade.ts';

const NORMAL = 1000;
/** Pings in a row without an answer after which the other side is gone. */
const PINGS_MISSED = 3;
const CLOSE_GRACE_MS = 10_000;
/** What a control frame holds beside its code. */
const REASON_CAP_BYTES = 123;
/** Nothing that a reader sends is read; this is only what it may send at once. */
const INBOUND_CAP_BYTES = 64 * 1024;

const protocol = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: INBOUND_CAP_BYTES,
});

export type WebSocketSinkOptions = Omit<EventSinkOptions, 'type'>;

export class WebSocketSink<T> implements EventSink<T> {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upgrade: Upgrade;
  readonly #options: Required<Omit<WebSocketSinkOptions, 'onError'>> & Pick<EventSinkOptions, 'onError'>;
  readonly #life: StreamLife;
  #socket: WebSocket | undefined;
  #unanswered = 0;
  #isWatched = false;

  /** Throws `invalid_request` for a handshake that cannot be answered. */
  constructor(
    request: IncomingMessage,
    response: ServerResponse,
    upgrade: Upgrade,
    options: WebSocketSinkOptions = {},
  ) {
    if (findHandshakeKey(request.rawHeaders) === undefined)
      throw new RemoraError('invalid_request', 'this is no WebSocket handshake of version 13');
    this.#request = request;
    this.#response = response;
    this.#upgrade = upgrade;
    this.#options = {
      keepAlive_ms: KEEP_ALIVE_MS,
      cap_bytes: READER_CAP_BYTES,
      hardCap_bytes: READER_HARD_CAP_BYTES,
      stall_ms: READER_STALL_MS,
      grace_ms: CLOSE_GRACE_MS,
      ...options,
    };
    this.#life = new StreamLife(this.#options);
    if (response.destroyed) this.#life.close();
    // Finished: it was answered with an error instead.
    else response.once('finish', () => this.#life.close()).once('close', () => this.#life.close());
  }

  get closed(): boolean {
    return this.#life.isOver;
  }

  get waiting_bytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** The handshake has no room for headers of a handler. */
  open(): void {
    // Answered already, with an error: there is no handshake any more.
    if (this.#response.headersSent && !this.#life.isOpen) this.#life.close();
    if (!this.#life.open()) return;
    const early = this.#upgrade.release();
    protocol.handleUpgrade(this.#request, this.#upgrade.socket, early, (socket) => this.#adopt(socket));
  }

  send(event: T): void {
    this.sendText(JSON.stringify(event));
  }

  sendText(json: string): void {
    this.open();
    if (!this.#life.isOpen) return;
    const waiting_bytes = this.#socket?.bufferedAmount ?? 0;
    if (waiting_bytes > this.#options.hardCap_bytes) {
      this.fail('slow_reader', `more than ${this.#options.hardCap_bytes} bytes were waiting for this reader`);
      return;
    }
    this.#socket?.send(json);
    if (waiting_bytes > this.#options.cap_bytes) this.#watch();
  }

  sendTexts(jsons: readonly string[]): void {
    for (const json of jsons) this.sendText(json);
  }

  end(): void {
    if (this.closed) return;
    this.open();
    this.#finish(this.#upgrade.stopping.aborted ? GOING_AWAY : NORMAL, '');
  }

  /** Closes with the code and the message as the reason; a message that is too long stays away. */
  fail(code: ErrorCode | 'slow_reader', message: string): void {
    if (this.closed) return;
    this.open();
    const reason = `${code}: ${message}`;
    const closeCode = code === 'slow_reader' ? POLICY_VIOLATION : toCloseCode(code);
    this.#finish(closeCode, Buffer.byteLength(reason) <= REASON_CAP_BYTES ? reason : code);
  }

  /** As `fail`, with the public form of whatever a handler threw. */
  failWith(error: unknown): void {
    const { body } = toErrorAnswer(error);
    this.fail(body.error as ErrorCode, body.message);
  }

  onClose(listener: () => void): void {
    this.#life.onClose(listener);
  }

  #adopt(socket: WebSocket): void {
    this.#socket = socket;
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#life.close());
    socket.on('pong', () => {
      this.#unanswered = 0;
    });
    this.#life.keepAlive(this.#options.keepAlive_ms, () => {
      if (this.#unanswered >= PINGS_MISSED) socket.terminate();
      else socket.ping();
      this.#unanswered += 1;
    });
  }

  /** Over the cap: from here the reader must take something every `stall_ms`. */
  #watch(): void {
    if (this.#isWatched) return;
    this.#isWatched = true;
    const { cap_bytes, stall_ms } = this.#options;
    const { socket } = this.#upgrade;
    const done = () => {
      this.#isWatched = false;
      socket.off('timeout', onStall).off('drain', done).setTimeout(0);
    };
    const onStall = () => {
      done();
      if (socket.writableLength > cap_bytes)
        this.fail('slow_reader', `more than ${cap_bytes} bytes were waiting for this reader and it took none of them`);
    };
    socket.on('timeout', onStall).on('drain', done).setTimeout(stall_ms);
  }

  #finish(code: number, reason: string): void {
    this.#life.finish(this.#upgrade.socket, () => this.#socket?.close(code, reason));
  }
}
