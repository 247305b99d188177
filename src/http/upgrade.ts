// A connection that asked for another protocol, between its request and its 101. It is watched, so that the end of the caller
// is noticed, and it is answered through a plain ServerResponse until it has been switched.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Pieces } from '../core/http/pieces.ts';
import type { RemoraError } from '../core/remora-error.ts';
import { nodeHttp } from './node-http.ts';

/** How many bytes a caller may send ahead of the 101 before reading stops. */
const EARLY_CAP_BYTES = 64 * 1024;
/** How long the other side has to read a refusal and hang up. */
const LINGER_MS = 2_000;

export interface Upgrade {
  /** What was asked for, such as `websocket`. */
  readonly protocol: string;
  readonly socket: Socket;
  /** Aborted when the server stops, or the caller may not go on; the reason is the RemoraError to end with. */
  readonly stopping: AbortSignal;
  /**
   * Answers 101 with these headers, flat, and returns the bytes that came early. Afterwards `socket` belongs to the caller of
   * this function, to read and to close.
   */
  accept(headers: readonly string[]): Buffer;
  /** Does what `accept` does, for a library that writes the 101 itself. The answer counts as begun. */
  release(): Buffer;
}

export interface OpenUpgrade {
  readonly upgrade: Upgrade;
  /** Aborts `upgrade.stopping`. A connection that was not switched breaks off. */
  readonly stop: (reason: RemoraError) => void;
  readonly response: ServerResponse;
}

/**
 * The protocol that a request without a body asks to be upgraded to, in lower case. Undefined for every other request: its wish is
 * ignored, which RFC 9110, section 7.8 allows.
 */
export function toProtocol(request: IncomingMessage): string | undefined {
  const { headers, method, httpVersion } = request;
  if (method !== 'GET' || httpVersion !== '1.1' || headers['transfer-encoding'] !== undefined) return undefined;
  return Number(headers['content-length'] ?? 0) === 0 ? headers.upgrade?.trim().toLowerCase() : undefined;
}

/** `head`: the bytes that node:http had read beyond the request. `shutdown` is aborted when the server stops. */
export function openUpgrade(request: IncomingMessage, head: Buffer, shutdown: AbortSignal): OpenUpgrade {
  const { socket } = request;
  const protocol = toProtocol(request) ?? '';
  const response: ServerResponse = new nodeHttp.ServerResponse(request);
  const early = new Pieces();
  early.push(head);
  const stopping = new AbortController();

  const onData = (chunk: Buffer) => {
    early.push(chunk);
    if (early.bytes > EARLY_CAP_BYTES) socket.pause();
  };
  const onEnd = () => socket.destroy();
  const onDrain = () => response.emit('drain');
  const onShutdown = () => stopping.abort(shutdown.reason);

  function release(): void {
    socket.off('data', onData).off('end', onEnd).off('drain', onDrain).off('error', ignore);
  }

  if (shutdown.aborted) onShutdown();
  else shutdown.addEventListener('abort', onShutdown);
  socket.once('close', () => shutdown.removeEventListener('abort', onShutdown));
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  socket.setTimeout(0);
  socket.on('data', onData).on('end', onEnd).on('drain', onDrain).on('error', ignore);
  response.once('finish', () => {
    early.take();
    socket.off('data', onData).resume();
    socket.end();
    const linger = setTimeout(() => socket.destroy(), LINGER_MS);
    linger.unref();
    socket.once('close', () => clearTimeout(linger));
  });
  return {
    response,
    stop(reason) {
      if (response.headersSent) stopping.abort(reason);
      else response.destroy();
    },
    upgrade: {
      protocol,
      socket,
      stopping: stopping.signal,
      accept(headers) {
        release();
        response.sendDate = false;
        response.writeHead(101, ['connection', 'Upgrade', 'upgrade', protocol, ...headers]);
        response.flushHeaders();
        return early.take();
      },
      release() {
        release();
        response.detachSocket(socket);
        response.writeHead(101);
        socket.once('close', () => response.emit('close'));
        return early.take();
      },
    },
  };
}

function ignore(): void {
  // A connection that breaks also closes, and the close is what is watched.
}
