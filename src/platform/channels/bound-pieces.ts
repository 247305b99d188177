// Bounds how many pieces of a connection wait for their reader. A stream counts the bytes that wait and not their pieces, each of which takes
// two hundred bytes besides: a peer that sends single bytes would fill a hundred times as much memory as the stream allows for.
import type { Socket } from 'node:net';

const PIECES_MAX = 256;
const LOOK_MS = 20;

/** Reads nothing more while so many pieces wait, and goes on once they were taken. */
export function boundPieces(socket: Socket): void {
  const push = socket.push.bind(socket);
  const read = socket._read.bind(socket);
  let pieces = 0;
  let timer: NodeJS.Timeout | undefined;

  /** A refused read is not asked for again: it follows when there is room. */
  function readLater(size: number): void {
    timer ??= setInterval(() => {
      if (socket.readableLength > 0) return;
      clearInterval(timer);
      timer = undefined;
      pieces = 0;
      read(size);
    }, LOOK_MS);
  }

  socket.push = (piece: Buffer | null) => {
    if (piece === null) return push(null);
    if (socket.readableLength === 0) pieces = 0;
    pieces += 1;
    return push(piece) && pieces < PIECES_MAX;
  };
  socket._read = (size) => {
    if (pieces < PIECES_MAX || socket.readableLength === 0) read(size);
    else readLater(size);
  };
  socket.once('close', () => clearInterval(timer));
}
