// The bytes that were written to a slow reader and that the kernel has not taken yet, counted in pieces as well: a piece of one
// byte costs a thousand times its weight.

/** How many pieces may wait for a reader that takes nothing. */
const PIECES_AHEAD = 64;

interface Writer {
  readonly writableLength: number;
  write(chunk: Buffer, onWritten?: () => void): boolean;
}

export class Backlog {
  readonly #to: Writer;
  readonly #ahead_bytes: number;
  readonly #onRoom: () => void;
  #pieces = 0;

  /** `onRoom` runs when there are no longer too many pieces; a surplus of bytes ends with a `drain` of the writer itself. */
  constructor(to: Writer, ahead_bytes: number, onRoom: () => void) {
    this.#to = to;
    this.#ahead_bytes = ahead_bytes;
    this.#onRoom = onRoom;
  }

  /** False when nothing more should be written until there is room. */
  write(chunk: Buffer, onWritten?: () => void): boolean {
    this.#pieces = this.#to.writableLength === 0 ? 1 : this.#pieces + 1;
    if (this.#pieces < PIECES_AHEAD)
      return this.#to.write(chunk, onWritten) || this.#to.writableLength <= this.#ahead_bytes;
    this.#to.write(chunk, () => {
      onWritten?.();
      this.#onRoom();
    });
    return false;
  }
}
