// One connection to a port inside a sprite, over a WebSocket: the first text frame names the port, binary frames are its bytes.
// There is no frame for an end: a close by the caller ends what the port reads, and the end of the port closes the WebSocket.
import type { IncomingMessage } from 'node:http';
import { type Duplex, pipeline } from 'node:stream';
import { createWebSocketStream, type RawData, type WebSocket, WebSocketServer } from 'ws';
import type { ErrorCode } from '../../contract/errors.ts';
import { type ProxyRequest, type ProxyResponse, proxyRequest } from '../../contract/proxy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { POLICY_VIOLATION, toCloseCode } from '../../core/websocket/close-frame.ts';
import { answerPings } from '../../http/answer-pings.ts';
import type { Upgrade } from '../../http/upgrade.ts';
import { createPortAnswer } from './port-answer.ts';

/** Opens the connection inside the machine. Throws what `ChannelSession.connect` does. */
export type ConnectPort = (port: number, signal: AbortSignal) => Promise<Duplex>;

/** How long a caller may take to name the port. */
const FIRST_FRAME_MS = 10_000;
const FRAME_CAP_BYTES = 16 * 1024 * 1024;
/** How much of what a caller sends ahead may wait for the connection. */
const EARLY_BYTES = 16 * 1024;
const REASON_CAP_BYTES = 123;
const PONG_AHEAD_BYTES = 256 * 1024;
const PING_MS = 15_000;
/** How long a caller who may not go on has to hang up after the close frame. */
const LINGER_MS = 2_000;
/** How long the port may go on sending to nobody, once it has been given all that a caller who is gone had sent. */
const AFTER_CALLER_MS = 60_000;

const server = new WebSocketServer({
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: FRAME_CAP_BYTES,
  autoPong: false,
  // One frame in each turn of the loop: a read of 64 KB may hold ten thousand.
  allowSynchronousEvents: false,
});

/** Resolves when the connection is over. */
export async function proxyPort(request: IncomingMessage, upgrade: Upgrade, connect: ConnectPort): Promise<void> {
  const early = upgrade.release();
  const { promise, resolve } = Promise.withResolvers<void>();
  server.handleUpgrade(request, upgrade.socket, early, (socket) => {
    socket.on('error', () => socket.terminate());
    answerPings(socket, PONG_AHEAD_BYTES);
    // A caller that hears nothing for long gives up.
    const pinging = setInterval(() => {
      if (socket.readyState === socket.OPEN && socket.bufferedAmount <= PONG_AHEAD_BYTES) socket.ping();
    }, PING_MS);
    const { stopping } = upgrade;
    const onStop = () => stop(socket, stopping.reason);
    stopping.addEventListener('abort', onStop);
    socket.once('close', () => {
      clearInterval(pinging);
      stopping.removeEventListener('abort', onStop);
      resolve();
    });
    if (stopping.aborted) onStop();
    serve(socket, connect, stopping).catch((error: unknown) => refuse(socket, error));
  });
  await promise;
}

async function serve(socket: WebSocket, connect: ConnectPort, stopping: AbortSignal): Promise<void> {
  const { first, stream } = await readFirst(socket);
  try {
    const { port } = parseFirst(first);
    const target = await connectFor({ socket, stream, connect }, port);
    if (isCut(stopping)) {
      target.destroy();
      throw stopping.reason;
    }
    const answer: ProxyResponse = { status: 'connected', target: `localhost:${port}` };
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(answer));
    stopping.addEventListener('abort', () => {
      if (!isCut(stopping)) return;
      // Nothing more reaches the port; what still comes is read for the close frame in it.
      stream.unpipe(target).resume();
      socket.once('close', () => target.destroy());
    });
    pipeline(stream, target, () => {
      const cut = setTimeout(() => target.destroy(), AFTER_CALLER_MS);
      target.once('close', () => clearTimeout(cut));
      if (target.closed) clearTimeout(cut);
    });
    pipeline(target, createPortAnswer(socket), ignore);
  } catch (error) {
    // What nobody takes would keep the close of the caller from being read.
    stream.resume();
    throw error;
  }
}

interface Caller {
  readonly socket: WebSocket;
  readonly stream: Duplex;
  readonly connect: ConnectPort;
}

interface Opening {
  readonly first: string;
  /** What comes after the first frame: at most so much waits in it, and the rest at the caller. */
  readonly stream: Duplex;
}

/** Rejects when the caller is gone before the first frame, or it does not come in time. */
function readFirst(socket: WebSocket): Promise<Opening> {
  const { promise, resolve, reject } = Promise.withResolvers<Opening>();
  const timer = setTimeout(() => reject(new RemoraError('timeout', 'the first frame did not come')), FIRST_FRAME_MS);
  const onGone = () => reject(new RemoraError('invalid_request', 'the connection ended before its first frame'));
  socket.once('close', onGone);
  socket.once('message', (data: RawData, isBinary: boolean) => {
    if (isBinary) {
      reject(new RemoraError('invalid_request', 'the first frame must be text'));
      return;
    }
    // The next frame may be in the same read, and nobody else would take it.
    const stream = createWebSocketStream(socket, { readableHighWaterMark: EARLY_BYTES });
    resolve({ first: String(data), stream: stream.on('error', ignore) });
  });
  return promise.finally(() => {
    clearTimeout(timer);
    socket.off('close', onGone);
  });
}

/** Gives up when the caller is gone without a byte for the port. Throws what `connect` does. */
async function connectFor({ socket, stream, connect }: Caller, port: number): Promise<Duplex> {
  const gone = new AbortController();
  const onClose = () => {
    if (stream.readableLength === 0) gone.abort();
  };
  socket.once('close', onClose);
  if (socket.readyState === socket.CLOSED) onClose();
  try {
    const target = await connect(port, gone.signal);
    if (gone.signal.aborted) target.destroy();
    return target;
  } finally {
    socket.off('close', onClose);
  }
}

function parseFirst(text: string): ProxyRequest {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new RemoraError('invalid_request', 'the first frame must be JSON: {"port":3000}');
  }
  const parsed = proxyRequest.safeParse(value);
  if (parsed.success) return parsed.data;
  const isHost = parsed.error.issues.some(({ path }) => path[0] === 'host');
  if (isHost) throw new RemoraError('forbidden', 'host may only be localhost, 127.0.0.1 or ::1');
  throw new RemoraError('invalid_request', 'port must be an integer from 1 to 65535');
}

/** What may not go on is cut; what only ends with the server is let finish. */
function isCut({ aborted, reason }: AbortSignal): boolean {
  return aborted && toCloseCode(reason.code) === POLICY_VIOLATION;
}

function stop(socket: WebSocket, { code, message }: RemoraError): void {
  const closeCode = toCloseCode(code);
  socket.close(closeCode, toReason(code, message));
  if (closeCode !== POLICY_VIOLATION) return;
  const cut = setTimeout(() => socket.terminate(), LINGER_MS);
  socket.once('close', () => clearTimeout(cut));
}

function toReason(code: ErrorCode, message: string): string {
  const reason = `${code}: ${message}`;
  return Buffer.byteLength(reason) <= REASON_CAP_BYTES ? reason : code;
}

/** Says why in a text frame, for clients that read one, and in the close frame. */
function refuse(socket: WebSocket, error: unknown): void {
  const { code, message } =
    error instanceof RemoraError ? error : new RemoraError('internal', 'the connection failed; the log has the cause');
  socket.send(JSON.stringify({ status: 'error', error: code, message }));
  socket.close(code === 'forbidden' ? POLICY_VIOLATION : toCloseCode(code), toReason(code, message));
}

/** A stream that breaks closes the WebSocket. */
function ignore(): void {}
