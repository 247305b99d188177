// Collects bytes that come in pieces and are taken as one. Small pieces are copied together at once, so that the memory is that
// of the bytes, however finely they were cut.
import { freeBytes } from '../free-bytes.ts';

/** A piece below this is copied; a larger one is kept as it is. */
const COPY_BELOW_BYTES = 2 * 1024;
const SLAB_BYTES = 16 * 1024;

export class Pieces {
  readonly #isOwner: boolean;
  readonly #kept: Buffer[] = [];
  #first: Buffer | undefined;
  #slab: Buffer | undefined;
  #from = 0;
  #to = 0;
  bytes = 0;

  /** An owner frees the pieces that it has joined: nobody else may have them. */
  constructor({ isOwner = false } = {}) {
    this.#isOwner = isOwner;
  }

  push(piece: Buffer): void {
    if (piece.length === 0) return;
    // Nearly always there is only one piece.
    if (this.bytes === 0) this.#first = piece;
    else this.#add(piece);
    this.bytes += piece.length;
  }

  /** Removes and returns everything that was pushed since the last call. */
  take(): Buffer {
    const only = this.#first;
    if (only === undefined) this.#seal();
    const all = only ?? Buffer.concat(this.#kept);
    if (only === undefined && this.#isOwner) for (const piece of this.#kept) freeBytes(piece);
    this.#first = undefined;
    this.#slab = undefined;
    this.#kept.length = 0;
    this.bytes = 0;
    return all;
  }

  #add(piece: Buffer): void {
    const first = this.#first;
    this.#first = undefined;
    if (first !== undefined) this.#add(first);
    if (piece.length < COPY_BELOW_BYTES) {
      this.#copy(piece);
      return;
    }
    this.#seal();
    this.#kept.push(piece);
  }

  #copy(piece: Buffer): void {
    if (this.#slab === undefined || this.#slab.length - this.#to < piece.length) {
      this.#seal();
      this.#slab = Buffer.allocUnsafeSlow(SLAB_BYTES);
      this.#from = 0;
      this.#to = 0;
    }
    this.#slab.set(piece, this.#to);
    this.#to += piece.length;
  }

  #seal(): void {
    if (this.#slab === undefined || this.#from === this.#to) return;
    this.#kept.push(this.#slab.subarray(this.#from, this.#to));
    this.#from = this.#to;
  }
}
