// Answers with the content of an open file, or a part of it. What was promised is sent or the connection is cut: a file that shrinks
// meanwhile never looks whole.
import type { BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { errorStatus } from '../../contract/errors.ts';
import { freeBytes } from '../../core/free-bytes.ts';
import { sendJson } from '../../http/reply.ts';
import type { OpenFile } from './actions/read-file.ts';
import { parseRange } from './byte-range.ts';
import { named } from './file-error.ts';
import { isKnown, isSame, toFileVersion } from './file-version.ts';

const PIECE_BYTES = 256 * 1024;
const NOTHING = Buffer.alloc(0);

/** Throws FileError while nothing is answered. The file stays open. */
export async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  { path, handle }: OpenFile,
): Promise<void> {
  const stat = await named(path, handle.stat({ bigint: true }));
  const version = toFileVersion(stat);
  const { etag, modified_ms } = version;
  const { headers } = request;
  response.setHeader('etag', etag);
  response.setHeader('last-modified', new Date(modified_ms).toUTCString());
  response.setHeader('accept-ranges', 'bytes');
  response.setHeader('cache-control', 'no-cache');
  if (isKnown(version, headers)) {
    response.writeHead(304).end();
    return;
  }
  const size = Number(stat.size);
  const range = isSame(version, headers['if-range']?.toString()) ? parseRange(headers.range, size) : undefined;
  if (range === 'unsatisfiable') {
    sendUnsatisfiable(response, path, size);
    return;
  }
  const { start, end } = range ?? { start: 0, end: size };
  response.setHeader('content-type', 'application/octet-stream');
  response.setHeader('x-content-type-options', 'nosniff');
  if (range !== undefined) response.setHeader('content-range', `bytes ${start}-${end - 1}/${size}`);
  await sendBytes(request, response, { path, handle, stat, start, end, status: range === undefined ? 200 : 206 });
}

function sendUnsatisfiable(response: ServerResponse, path: string, size: number): void {
  const message = `the file has ${size} bytes and none of them is in this range: ${path}`;
  const body = { error: 'invalid_range', message, code: 'EINVAL', path };
  sendJson(response, errorStatus.invalid_range, body, { 'content-range': `bytes */${size}` });
}

interface Part extends OpenFile {
  readonly stat: BigIntStats;
  readonly start: number;
  readonly end: number;
  readonly status: number;
}

async function sendBytes(request: IncomingMessage, response: ServerResponse, part: Part): Promise<void> {
  const { handle, start, end, status, stat, path } = part;
  const first = await readPiece(handle, path, start, end - start);
  // Files of the kernel say that they are empty and are not.
  const hasSize = stat.size > 0n || first.length === 0;
  if (hasSize) response.setHeader('content-length', end - start);
  response.writeHead(status);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  let at = start;
  for (let piece = first; piece.length > 0; ) {
    at += piece.length;
    const written = writePiece(response, piece);
    // The next piece is read while this one is on its way.
    const next = hasSize && at >= end ? NOTHING : await readPiece(handle, path, at, hasSize ? end - at : 0);
    await written;
    if (response.destroyed) return;
    freeBytes(piece);
    piece = next;
  }
  if (hasSize && at < end) response.destroy();
  else response.end();
}

/** Empty at the end of the file. `wanted` bytes at the most; for 0, as many as a piece has. */
async function readPiece(handle: FileHandle, path: string, at: number, wanted: number): Promise<Buffer> {
  const length = wanted > 0 ? Math.min(wanted, PIECE_BYTES) : PIECE_BYTES;
  const { bytesRead, buffer } = await named(path, handle.read(Buffer.allocUnsafeSlow(length), 0, length, at));
  return buffer.subarray(0, bytesRead);
}

/** Resolves when the kernel has it, or the connection is gone. */
function writePiece(response: ServerResponse, piece: Buffer): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      response.off('close', finish);
      resolve();
    };
    response.once('close', finish);
    response.write(piece, finish);
  });
}
