// A watch over a WebSocket: the first frame of the caller says what it watches; then each change is a text frame.
import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { type FileWatchFrame, type WatchFilesRequest, watchFilesRequest } from '../../../contract/files.ts';
import type { Operation } from '../../../contract/operation.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { GOING_AWAY, POLICY_VIOLATION } from '../../../core/websocket/close-frame.ts';
import { findHandshakeKey } from '../../../core/websocket/websocket-handshake.ts';
import { answerPings } from '../../../http/answer-pings.ts';
import { toKnownError } from '../../../http/error-answer.ts';
import type { Call } from '../../../http/handler.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError, mapFileError } from '../file-error.ts';
import { FileWatch } from './file-watch.ts';

/** Watches at once, of all callers of this process. */
const WATCHES_MAX = 64;
const FIRST_FRAME_BYTES = 256 * 1024;
const FIRST_FRAME_MS = 30_000;
const PING_MS = 15_000;
const PINGS_MISSED = 3;
/** What may wait for a caller that does not read. */
const WAITING_MAX_BYTES = 1024 * 1024;
/** Nothing more is looked at while more than this waits, for at most so long. */
const WAITING_BYTES = 256 * 1024;
const STALL_MS = 5_000;
const STALL_LOOK_MS = 20;
/** How long it may take to answer the close. */
const CLOSE_MS = 2_000;
const INTERNAL = 1011;
const REASON_BYTES = 123;

type WatchHandler = (call: Call<Operation, unknown>, response: ServerResponse) => Promise<void>;

/** Counts the watches of its callers. */
export function createWatchHandler(): WatchHandler {
  const protocol = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: FIRST_FRAME_BYTES,
    autoPong: false,
    // One frame in each turn of the loop: a read of 64 KB may hold ten thousand.
    allowSynchronousEvents: false,
  });
  let open = 0;
  return async ({ request, upgrade }) => {
    if (upgrade === undefined || findHandshakeKey(request.rawHeaders) === undefined)
      throw new RemoraError('invalid_request', 'this is no WebSocket handshake of version 13');
    if (open >= WATCHES_MAX) {
      throw new RemoraError('too_many_requests', `there are ${WATCHES_MAX} watches already; end one`);
    }
    if (upgrade.socket.destroyed) return;
    open += 1;
    upgrade.socket.once('close', () => {
      open -= 1;
    });
    protocol.handleUpgrade(request, upgrade.socket, upgrade.release(), (socket) => {
      new WatchSession(socket, upgrade.stopping).start();
    });
  };
}

class WatchSession {
  readonly #socket: WebSocket;
  readonly #stopping: AbortSignal;
  #watch: FileWatch | undefined;
  #unanswered = 0;

  constructor(socket: WebSocket, stopping: AbortSignal) {
    this.#socket = socket;
    this.#stopping = stopping;
  }

  start(): void {
    const socket = this.#socket;
    const late = setTimeout(() => this.#close(POLICY_VIOLATION, 'no frame of type subscribe came'), FIRST_FRAME_MS);
    const pings = setInterval(() => this.#ping(), PING_MS);
    const onStop = () => this.#close(GOING_AWAY, '');
    this.#stopping.addEventListener('abort', onStop);
    socket.on('error', () => socket.terminate());
    answerPings(socket, 0);
    socket.on('pong', () => {
      this.#unanswered = 0;
    });
    socket.on('message', (data, isBinary) => {
      clearTimeout(late);
      this.#subscribe(data, isBinary).catch((error: unknown) => this.#fail(error));
    });
    socket.once('close', () => {
      clearTimeout(late);
      clearInterval(pings);
      this.#stopping.removeEventListener('abort', onStop);
      this.#watch?.[Symbol.dispose]();
    });
    if (this.#stopping.aborted) onStop();
  }

  async #subscribe(data: RawData, isBinary: boolean): Promise<void> {
    if (this.#watch !== undefined)
      throw new RemoraError('conflict', 'this connection watches already; open another one');
    const { paths, recursive, workingDir } = parseFrame(data, isBinary);
    const watch = new FileWatch({
      isRecursive: recursive,
      onEvent: (event) => this.#send(event),
      hasRoom: () => this.#waitForRoom(),
      onError: (error) => this.#fail(error),
      now: () => new Date(),
    });
    this.#watch = watch;
    const watched = paths.map((path) => toAbsolutePath(path, workingDir));
    for (const path of watched) await watch.add(path);
    this.#send({ type: 'subscribed', paths: watched });
  }

  /** A caller that takes nothing for a while is dropped. */
  async #waitForRoom(): Promise<void> {
    const socket = this.#socket;
    const begun_ms = performance.now();
    await nextTurn();
    while (socket.readyState === socket.OPEN && socket.bufferedAmount > WAITING_BYTES) {
      if (performance.now() - begun_ms > STALL_MS) {
        this.#dropSlow();
        return;
      }
      await sleep(STALL_LOOK_MS);
    }
  }

  #dropSlow(): void {
    this.#watch?.[Symbol.dispose]();
    this.#close(
      POLICY_VIOLATION,
      `slow_reader: more than ${WAITING_BYTES} bytes were waiting and it took none of them`,
    );
  }

  #send(frame: FileWatchFrame): void {
    const socket = this.#socket;
    if (socket.readyState !== socket.OPEN) return;
    if (socket.bufferedAmount > WAITING_MAX_BYTES) {
      this.#dropSlow();
    } else {
      socket.send(JSON.stringify(frame));
    }
  }

  /** Says what is wrong, and ends. */
  #fail(error: unknown): void {
    this.#watch?.[Symbol.dispose]();
    const known = toKnownError(error, mapFileError);
    const message = known?.message ?? 'something went wrong inside; the log of the daemon has the cause';
    const where = error instanceof FileError ? { path: error.path } : {};
    this.#send({ type: 'error', message, ...where });
    this.#close(known === undefined ? INTERNAL : POLICY_VIOLATION, known?.code ?? 'internal');
  }

  #ping(): void {
    if (this.#unanswered >= PINGS_MISSED) this.#socket.terminate();
    else this.#socket.ping();
    this.#unanswered += 1;
  }

  #close(code: number, reason: string): void {
    const socket = this.#socket;
    socket.close(code, reason.slice(0, REASON_BYTES));
    const cut = setTimeout(() => socket.terminate(), CLOSE_MS);
    cut.unref();
    socket.once('close', () => clearTimeout(cut));
  }
}

/** Throws `invalid_request`. */
function parseFrame(data: RawData, isBinary: boolean): WatchFilesRequest {
  let value: unknown;
  try {
    value = isBinary ? undefined : JSON.parse(String(data));
  } catch {
    // It is refused below.
  }
  const result = watchFilesRequest.safeParse(value);
  if (result.success) return result.data;
  const fields = result.error.issues.map((issue) => issue.path.join('.') || 'frame').slice(0, 5);
  throw new RemoraError('invalid_request', `the first frame must be a subscribe frame; check ${fields.join(', ')}`);
}
