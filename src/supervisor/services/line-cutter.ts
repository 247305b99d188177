// Cuts output into lines. A line may have any bytes and no end: it is cut into pieces, and nothing is held beyond one piece. Pure.

/** The longest piece. */
export const PIECE_BYTES = 64 * 1024;
const LF = 0x0a;
/** UTF-8: the first byte of a character of several, and the ones after it. */
const LEAD = 0xc0;
const AFTER = 0x80;
const CHARACTER_BYTES = 4;

export interface LinePiece {
  /** The line or piece, without the newline. */
  readonly bytes: Buffer;
  /** The line goes on in the next piece. */
  readonly goesOn: boolean;
}

export class LineCutter {
  #held: Buffer[] = [];
  #held_bytes = 0;

  /** Whether part of a line is held. */
  get isHolding(): boolean {
    return this.#held_bytes > 0;
  }

  /**
   * What is complete now: first `pieces`, then `whole`, which are whole lines with their newlines and is a part of `chunk`.
   * @param chunk at most `PIECE_BYTES`; its memory may change afterwards
   */
  push(chunk: Buffer): { readonly pieces: readonly LinePiece[]; readonly whole: Buffer } {
    const pieces: LinePiece[] = [];
    const end = chunk.lastIndexOf(LF) + 1;
    let start = 0;
    if (end > 0 && this.isHolding) {
      start = chunk.indexOf(LF) + 1;
      this.#cut(chunk.subarray(0, start - 1), pieces);
      pieces.push({ bytes: this.#take(), goesOn: false });
    }
    this.#cut(chunk.subarray(end), pieces);
    return { pieces, whole: chunk.subarray(start, end) };
  }

  /** What is held, as a piece: its line goes on unless this is the end of the output. */
  flush(isEnd: boolean): LinePiece[] {
    return this.isHolding ? [{ bytes: this.#take(), goesOn: !isEnd }] : [];
  }

  /** Holds the bytes; cuts off a piece for as long as more than one piece is held. */
  #cut(bytes: Buffer, pieces: LinePiece[]): void {
    if (bytes.length > 0) {
      this.#held.push(Buffer.from(bytes));
      this.#held_bytes += bytes.length;
    }
    if (this.#held_bytes <= PIECE_BYTES) return;
    let rest = this.#take();
    while (rest.length > PIECE_BYTES) {
      const length = beforeCharacter(rest, PIECE_BYTES);
      pieces.push({ bytes: rest.subarray(0, length), goesOn: true });
      rest = rest.subarray(length);
    }
    this.#held = [rest];
    this.#held_bytes = rest.length;
  }

  #take(): Buffer {
    const [only] = this.#held;
    const bytes = this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held);
    this.#held = [];
    this.#held_bytes = 0;
    return bytes;
  }
}

/** `length`, or a little less where a character would be cut in two. */
function beforeCharacter(bytes: Buffer, length: number): number {
  for (let at = length; at > length - CHARACTER_BYTES; at -= 1) {
    const byte = bytes[at] ?? 0;
    if (byte < AFTER || byte >= LEAD) return at;
  }
  return length;
}
