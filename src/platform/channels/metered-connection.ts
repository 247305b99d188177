// The connection of a channel as the HTTP/2 client reads it: through a meter of its frames, and not while the channel holds too much.
import { Duplex } from 'node:stream';
import { freeBytes } from '../../core/free-bytes.ts';
import { FrameAllowance } from '../../core/http/frame-allowance.ts';
import { FrameMeter } from '../../core/http/frame-meter.ts';
import { joinReads } from '../../http/join-reads.ts';

export interface MeteredConnectionOptions {
  /** Runs once, when the other end sends what no agent sends. */
  readonly onRefused: (reason: string) => void;
  /** Whether so much waits for readers that no more may be taken. */
  readonly isFull: () => boolean;
}

/** What waits is looked at after so many bytes. */
const LOOK_BYTES = 256 * 1024;
const FULL_LOOK_MS = 20;

export function meterConnection(socket: Duplex, { onRefused, isFull }: MeteredConnectionOptions): Duplex {
  let unseen_bytes = 0;
  let timer: NodeJS.Timeout | undefined;

  const metered = new Duplex({
    // HTTP/2 has buffers of its own.
    allowHalfOpen: false,
    read() {
      if (timer === undefined) socket.resume();
    },
    write(chunk: Buffer, _encoding, callback) {
      socket.write(chunk, (error) => {
        // What HTTP/2 writes here is a copy that it has made for this.
        freeBytes(chunk);
        callback(error);
      });
    },
    writev(chunks, callback) {
      const pieces = chunks.map(({ chunk }) => chunk as Buffer);
      const all = Buffer.concat(pieces);
      for (const piece of pieces) freeBytes(piece);
      socket.write(all, (error) => {
        freeBytes(all);
        callback(error);
      });
    },
    final(callback) {
      socket.end(callback);
    },
    destroy(error, callback) {
      clearInterval(timer);
      socket.destroy();
      callback(error);
    },
  });
  // The client of node:http2 must not see the end: it would shut its own side down, and a write after that, such as a ping, is an
  // assertion that ends the process.
  metered.once('end', () => metered.destroy());
  joinReads(metered, new FrameMeter(new FrameAllowance(() => performance.now()), onRefused));

  function waitForRoom(): void {
    socket.pause();
    timer ??= setInterval(() => {
      if (isFull()) return;
      clearInterval(timer);
      timer = undefined;
      socket.resume();
    }, FULL_LOOK_MS);
  }

  socket.on('data', (read: Buffer) => {
    unseen_bytes += read.length;
    if (!metered.push(read)) socket.pause();
    if (unseen_bytes < LOOK_BYTES) return;
    unseen_bytes = 0;
    if (isFull()) waitForRoom();
  });
  socket.once('end', () => metered.push(null));
  socket.once('error', (error) => metered.destroy(error));
  socket.once('close', () => metered.destroy());
  return metered;
}
