// One reader of an event stream over a WebSocket: each event is a text frame, and nothing else is. Keep-alives and the reason
// of the end travel in control frames, because clients take every text frame for an event.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import type { ErrorCode } from '../contract/errors.ts';
import { RemoraError } from '../core/remora-error.ts';
import { GOING_AWAY, POLICY_VIOLATION, toCloseCode } from '../core/websocket/close-frame.ts';
import { findHandshakeKey } from '../core/websocket/websocket-handshake.ts';
import { answerPings } from './answer-pings.ts';
import { toErrorAnswer } from './error-answer.ts';
import {
  type EventSink,
  type EventSinkOptions,
  KEEP_ALIVE_MS,
  READER_CAP_BYTES,
  READER_HARD_CAP_BYTES,
  READER_STALL_MS,
  type SinkSettings,
} from './event-sink.ts';
import { StreamState } from './stream-state.ts';
import type { Upgrade } from './upgrade.ts';

const NORMAL = 1000;
/** The other side is gone after this many pings in a row without an answer. */
const PINGS_MISSED = 3;
const CLOSE_GRACE_MS = 10_000;
/** The bytes that a control frame holds besides its code. */
const REASON_CAP_BYTES = 123;
/** Messages of a reader are not used; this only limits what it may send at once. */
const INBOUND_CAP_BYTES = 64 * 1024;

const protocol = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: INBOUND_CAP_BYTES,
  // Pongs of its own would wait for a reader that may never read.
  autoPong: false,
  // One frame in each turn of the loop: a read of 64 KB may hold ten thousand.
  allowSynchronousEvents: false,
});

export type WebSocketSinkOptions = Omit<EventSinkOptions, 'type'>;

export class WebSocketSink<T> implements EventSink<T> {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #upgrade: Upgrade;
  readonly #options: SinkSettings<WebSocketSinkOptions>;
  readonly #state: StreamState;
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
    this.#state = new StreamState(this.#options);
    if (response.destroyed) this.#state.close();
    // The response finished: it answered with an error instead.
    else response.once('finish', () => this.#state.close()).once('close', () => this.#state.close());
  }

  get closed(): boolean {
    return this.#state.isOver;
  }

  get waiting_bytes(): number {
    return this.#socket?.bufferedAmount ?? 0;
  }

  /** A handshake has no room for the headers of a handler. */
  open(): void {
    // The response has already answered with an error, so that there is no handshake any more.
    if (this.#response.headersSent && !this.#state.isOpen) this.#state.close();
    if (!this.#state.open()) return;
    const early = this.#upgrade.release();
    protocol.handleUpgrade(this.#request, this.#upgrade.socket, early, (socket) => this.#adopt(socket));
  }

  send(event: T): void {
    this.sendText(JSON.stringify(event));
  }

  sendText(json: string): void {
    this.open();
    if (!this.#state.isOpen) return;
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

  /** Closes with the code and with the message as the reason; a message that is too long is left out. */
  fail(code: ErrorCode | 'slow_reader', message: string): void {
    if (this.closed) return;
    this.open();
    const reason = `${code}: ${message}`;
    const closeCode = code === 'slow_reader' ? POLICY_VIOLATION : toCloseCode(code);
    this.#finish(closeCode, Buffer.byteLength(reason) <= REASON_CAP_BYTES ? reason : code);
  }

  /** Does what `fail` does, with the public form of any error. */
  failWith(error: unknown): void {
    const { body } = toErrorAnswer(error, this.#options.mapError);
    this.fail(body.error as ErrorCode, body.message);
  }

  onClose(listener: () => void): void {
    this.#state.onClose(listener);
  }

  #adopt(socket: WebSocket): void {
    this.#socket = socket;
    socket.on('error', () => socket.terminate());
    socket.once('close', () => this.#state.close());
    answerPings(socket, 0);
    socket.on('pong', () => {
      this.#unanswered = 0;
    });
    this.#state.keepAlive(this.#options.keepAlive_ms, () => {
      if (this.#unanswered >= PINGS_MISSED) socket.terminate();
      else socket.ping();
      this.#unanswered += 1;
    });
  }

  /** The reader is over the cap: it must now take something every `stall_ms`. */
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
    this.#state.finish(this.#upgrade.socket, () => this.#socket?.close(code, reason));
  }
}
