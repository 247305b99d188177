// Answers on a bare connection, for CONNECT and for requests that node:http could not parse: the usual error body, then the
// end.
import type { Duplex } from 'node:stream';
import { RemoraError } from '../core/remora-error.ts';
import { TARGET_CAP_BYTES } from './check-request.ts';
import { toErrorAnswer } from './error-answer.ts';

/** How long the other side has to read the answer and hang up. */
const LINGER_MS = 2_000;

/** The error of a request that node:http could not read; `reason` is the parser's, `rawPacket` the bytes. */
export interface ParseFailure extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: Buffer;
}

export function toParseError(error: ParseFailure): RemoraError {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return isLongTarget(error.rawPacket)
        ? new RemoraError('target_too_long', `the request target may have at most ${TARGET_CAP_BYTES} bytes`)
        : new RemoraError('headers_too_large', 'the request headers are too large');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new RemoraError('timeout', 'the request headers took too long');
    default:
      return new RemoraError('invalid_request', `the request is not valid HTTP/1.1 (${error.reason ?? 'broken off'})`);
  }
}

/** Writes the error and closes, also when the other side never does. */
export function refuse(socket: Duplex, error: RemoraError): void {
  socket.on('error', () => undefined);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  const { status, body, headers } = toErrorAnswer(error);
  const text = `${JSON.stringify(body)}\n`;
  const lines = [
    `HTTP/1.1 ${status} ${error.code}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(text)}`,
    'connection: close',
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  socket.end(`${lines.join('\r\n')}\r\n\r\n${text}`);
  const linger = setTimeout(() => socket.destroy(), LINGER_MS);
  linger.unref();
  socket.once('close', () => clearTimeout(linger));
  socket.once('end', () => socket.destroy());
  socket.resume();
}

function isLongTarget(packet: Buffer | undefined): boolean {
  if (packet === undefined || !/^[A-Z]+ /.test(packet.toString('latin1', 0, 16))) return false;
  const end = packet.indexOf(0x0a);
  return end < 0 || end > TARGET_CAP_BYTES;
}
