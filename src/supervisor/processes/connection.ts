// The WebSocket of one caller: how much waits for it, whether it is still there, and an end that loses nothing.
import type { IncomingMessage } from 'node:http';
import { type WebSocket, WebSocketServer } from 'ws';
import { RemoraError } from '../../core/remora-error.ts';
import { GOING_AWAY } from '../../core/websocket/close-frame.ts';
import { findHandshakeKey } from '../../core/websocket/websocket-handshake.ts';
import { answerPings } from '../../http/answer-pings.ts';
import type { Upgrade } from '../../http/upgrade.ts';

/** One frame of a caller is held as a whole. */
const FRAME_CAP_BYTES = 32 * 1024 * 1024;
/** The process is held back while more than this waits. */
const AHEAD_BYTES = 256 * 1024;
/** Notes are left out while more than this waits: a caller that takes nothing must not gather them for ever. */
const NOTES_AHEAD_BYTES = 1024 * 1024;
const PING_MS = 15_000;
/** Who has not been heard for this long is gone. */
const SILENCE_MS = 45_000;
/** How long a caller may take to answer the close. */
const CLOSE_MS = 2_000;

const protocol = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: FRAME_CAP_BYTES,
  autoPong: false,
  // One frame in each turn of the loop: a read of 64 KB may hold ten thousand.
  allowSynchronousEvents: false,
});

export interface ConnectionListener {
  onMessage(data: Buffer, isBinary: boolean): void;
  onGone(): void;
  /** It takes frames again. */
  onRoom(): void;
}

/** Throws `invalid_request` for a request that is no handshake. */
export function checkHandshake(request: IncomingMessage, upgrade: Upgrade | undefined): Upgrade {
  if (upgrade !== undefined && findHandshakeKey(request.rawHeaders) !== undefined) return upgrade;
  throw new RemoraError('invalid_request', 'this is no WebSocket handshake of version 13');
}

/** Completes the handshake; `use` gets the connection before any of its messages. */
export function acceptConnection(
  request: IncomingMessage,
  upgrade: Upgrade,
  use: (connection: Connection) => void,
): void {
  protocol.handleUpgrade(request, upgrade.socket, upgrade.release(), (socket) => {
    use(new Connection(socket, upgrade.stopping));
  });
}

export class Connection {
  readonly #socket: WebSocket;
  #listener: ConnectionListener | undefined;
  #heard_ms = performance.now();
  #taken_ms = performance.now();
  #isBlocked = false;
  #isEnding = false;

  constructor(socket: WebSocket, stopping: AbortSignal) {
    this.#socket = socket;
    const pings = setInterval(() => this.#ping(), PING_MS);
    const onStop = () => this.close(GOING_AWAY, 'shutting_down');
    stopping.addEventListener('abort', onStop);
    socket.on('error', () => socket.terminate());
    socket.on('pong', () => this.#hear());
    answerPings(socket, AHEAD_BYTES);
    socket.on('message', (data: Buffer, isBinary) => {
      this.#hear();
      this.#listener?.onMessage(data, isBinary);
    });
    socket.once('close', () => {
      clearInterval(pings);
      stopping.removeEventListener('abort', onStop);
      this.#listener?.onGone();
    });
    if (stopping.aborted) onStop();
  }

  /** There is one listener at a time. */
  listen(listener: ConnectionListener): void {
    this.#listener = listener;
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN && !this.#isEnding;
  }

  get isBlocked(): boolean {
    return this.#isBlocked && this.isOpen;
  }

  /** How long it has taken nothing although something waits. */
  get stalled_ms(): number {
    return this.isBlocked ? performance.now() - this.#taken_ms : 0;
  }

  send(frame: Buffer | string): void {
    if (!this.isOpen) return;
    if (!this.#isBlocked) this.#taken_ms = performance.now();
    this.#socket.send(frame, { binary: typeof frame !== 'string' }, () => this.#onTaken());
    if (this.#socket.bufferedAmount > AHEAD_BYTES) this.#isBlocked = true;
  }

  /** Sends a text that the caller can do without. */
  note(text: string): void {
    if (this.#socket.bufferedAmount < NOTES_AHEAD_BYTES) this.send(text);
  }

  /** Stops and goes on reading what the caller sends. While it is stopped, nothing is heard of the caller. */
  setReading(isReading: boolean): void {
    if (isReading && this.#socket.isPaused) {
      this.#hear();
      this.#socket.resume();
    } else if (!isReading) this.#socket.pause();
  }

  /** Closes once all that was sent is taken. */
  close(code: number, reason: string): void {
    if (!this.isOpen) return;
    this.#isEnding = true;
    this.#socket.resume();
    // The time that ws allows for the answer to a close runs from the call on, so that it must not be called earlier.
    this.#socket.ping(undefined, undefined, () => {
      this.#socket.close(code, reason);
      const cut = setTimeout(() => this.#socket.terminate(), CLOSE_MS);
      this.#socket.once('close', () => clearTimeout(cut));
    });
  }

  #hear(): void {
    this.#heard_ms = performance.now();
  }

  #onTaken(): void {
    const now_ms = performance.now();
    this.#taken_ms = now_ms;
    if (!this.#isBlocked) return;
    this.#hear();
    if (this.#socket.bufferedAmount > AHEAD_BYTES / 2) return;
    this.#isBlocked = false;
    this.#listener?.onRoom();
  }

  #ping(): void {
    if (!this.#socket.isPaused && performance.now() - this.#heard_ms > SILENCE_MS) this.#socket.terminate();
    else if (this.#socket.readyState === this.#socket.OPEN) this.#socket.ping();
  }
}
