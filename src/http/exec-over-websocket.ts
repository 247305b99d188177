// A process over plain HTTP: the body is its standard input, and each chunk of the answer is one frame. It runs over a WebSocket of the
// server that has it, because clients need the limits of the chunks, which a proxy would not keep.
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import { execFrame } from '../contract/processes.ts';
import { notToHold } from '../core/http/ask-not-to-hold.ts';
import { RemoraError } from '../core/remora-error.ts';
import { answerPings } from './answer-pings.ts';
import { ExecChunks } from './exec-chunks.ts';
import { sendInput } from './exec-input.ts';
import { toExecTarget } from './exec-target.ts';
import type { UpstreamKind } from './upstream-error.ts';

/** The longest body of a refusal that is passed on. */
const REFUSAL_BYTES = 64 * 1024;
const PONG_AHEAD_BYTES = 256 * 1024;

export interface ExecUpstream {
  /** A connection to the server that has the operation. */
  readonly connect: () => Promise<Duplex>;
  readonly path: string;
  /** The headers of the handshake, made for the target that it is sent to. */
  readonly toHeaders?: (target: string) => Readonly<Record<string, string>>;
  readonly from: UpstreamKind;
}

/**
 * Resolves with the exit code when the exchange is over, and with undefined when it broke off. Throws only while nothing has been
 * answered: `invalid_request`, `upstream_failed` and what `connect` throws.
 */
export async function execOverWebSocket(
  request: IncomingMessage,
  response: ServerResponse,
  { connect, path, toHeaders, from }: ExecUpstream,
): Promise<number | undefined> {
  const target = toExecTarget(request, path);
  const connection = await connect();
  // A process would be started that nobody hears, and whose input never ends.
  if (response.destroyed) {
    connection.on('error', ignore).destroy();
    return undefined;
  }
  const socket = new WebSocket(`ws://${from}${target}`, {
    createConnection: () => connection as never,
    ...(toHeaders === undefined ? {} : { headers: toHeaders(target) }),
    perMessageDeflate: false,
    autoPong: false,
    // One frame in each turn of the loop: a read of 64 KB may hold ten thousand.
    allowSynchronousEvents: false,
  });
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>();
  answerPings(socket, PONG_AHEAD_BYTES);
  const chunks = new ExecChunks(response);
  let exit_code: number | undefined;
  let isOpen = false;
  response.on('error', ignore).once('close', () => {
    if (!response.writableFinished) socket.terminate();
  });
  socket.on('unexpected-response', (_asked, refusal) => {
    passRefusal(refusal, response).then(resolve, reject);
    response.once('close', () => socket.terminate());
  });
  socket.on('error', (cause) => {
    socket.terminate();
    if (!response.headersSent) reject(new RemoraError('upstream_failed', `the ${from} broke off`, { cause }));
  });
  socket.once('open', () => {
    isOpen = true;
    if (request.headers.expect !== undefined) response.writeContinue();
    const type = { 'content-type': 'application/octet-stream', 'cache-control': 'no-cache' };
    response.writeHead(200, { ...type, ...notToHold }).flushHeaders();
    sendInput(request, socket);
  });
  socket.on('message', (frame: Buffer, isBinary) => {
    if (!isBinary) return;
    if (frame[0] === execFrame.exitCode) exit_code = frame[1];
    socket.pause();
    chunks.write(frame).then(() => socket.resume());
  });
  socket.once('close', () => {
    if (!isOpen) return;
    // An answer without an exit code must not look like a whole one.
    if (exit_code === undefined) response.destroy();
    else chunks.end();
    resolve(exit_code);
  });
  return await promise;
}

/** Passes on the error with which the other server has refused. */
async function passRefusal(refusal: IncomingMessage, response: ServerResponse): Promise<undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of refusal as AsyncIterable<Buffer>) {
    bytes += part.length;
    // No refusal is longer, and one without end would never be answered.
    if (bytes > REFUSAL_BYTES) break;
    parts.push(part);
  }
  const { 'content-type': type = 'application/json', 'remora-error': code } = refusal.headers;
  const marker = code === undefined ? {} : { 'remora-error': code };
  response.writeHead(refusal.statusCode ?? 502, { 'content-type': type, ...marker }).end(Buffer.concat(parts));
}

function ignore(): void {}
