// How much memory waits for its readers: the bytes of streams that nobody has read yet, and what each piece of them costs besides.
import type { Readable } from 'node:stream';

/** What a piece of a stream takes beside its bytes. */
const PIECE_COST_BYTES = 200;

interface Followed {
  readonly stream: Readable;
  /** The bytes that came since nothing waited last. */
  bytes: number;
  pieces: number;
}

export class HeldBytes {
  readonly #open = new Set<Followed>();

  /** Follows a stream until it is closed. */
  follow(stream: Readable): void {
    const followed: Followed = { stream, bytes: 0, pieces: 0 };
    this.#open.add(followed);
    stream.once('close', () => this.#open.delete(followed));
    const push = stream.push.bind(stream);
    stream.push = (piece: Buffer | null) => {
      if (piece === null) return push(null);
      if (stream.readableLength === 0) {
        followed.bytes = 0;
        followed.pieces = 0;
      }
      followed.bytes += piece.length;
      followed.pieces += 1;
      return push(toOwn(piece));
    };
  }

  get total(): number {
    let total = 0;
    for (const { stream, bytes, pieces } of this.#open) {
      if (bytes > 0) total += stream.readableLength * (1 + (PIECE_COST_BYTES * pieces) / bytes);
    }
    return total;
  }
}

/** Streams get slices of one read: a byte for one that nobody reads would keep all the others in memory. */
function toOwn(piece: Buffer): Buffer {
  if (piece.length * 2 >= piece.buffer.byteLength) return piece;
  const own = Buffer.allocUnsafeSlow(piece.length);
  piece.copy(own);
  return own;
}
