// Memory in which many lines are put together for one write. A service may print millions of lines a second: nothing is allocated for a
// line, and large blocks are used again and again.
import { countLines } from './count-lines.ts';

const LF = 0x0a;
/** More than the longest line with its prefix. */
const BLOCK_BYTES = 256 * 1024;
/** Fewer bytes of lines get a block of their own size. */
const SMALL_BYTES = 4 * 1024;
/** So many blocks are kept between their uses, for all services together. */
const KEPT = 4;

const kept: Buffer[] = [];

export class LogBlock {
  readonly #buffer: Buffer;
  #length = 0;
  #lines = 0;

  private constructor(buffer: Buffer) {
    this.#buffer = buffer;
  }

  /** A block with room for these lines, or for many. */
  static open(prefix: string, lines: Buffer): LogBlock {
    if (lines.length > SMALL_BYTES) return new LogBlock(kept.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES));
    return new LogBlock(Buffer.allocUnsafe(lines.length + countLines([lines], lines.length) * prefix.length));
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  get size_bytes(): number {
    return this.#length;
  }

  get lines(): number {
    return this.#lines;
  }

  /**
   * Puts whole lines into the block, each after the prefix, while there is room.
   * @param prefix ASCII
   * @param lines ends with a newline; no line has more than 64 KB
   * @returns where the first line begins that is not in the block
   */
  push(prefix: string, lines: Buffer, start = 0): number {
    const stamp = Buffer.from(prefix);
    const buffer = this.#buffer;
    const limit = buffer.length;
    let begin = start;
    let length = this.#length;
    let count = 0;
    while (begin < lines.length && length + stamp.length < limit) {
      buffer.set(stamp, length);
      let from = begin;
      let to = length + stamp.length;
      let byte = 0;
      // Byte by byte: to find and copy a short line by calls takes several times as long.
      do {
        byte = lines[from] as number;
        buffer[to] = byte;
        from += 1;
        to += 1;
      } while (byte !== LF && to < limit);
      if (byte !== LF) break;
      begin = from;
      length = to;
      count += 1;
    }
    this.#length = length;
    this.#lines += count;
    return begin;
  }

  /** Its memory is used again. */
  release(): void {
    if (this.#buffer.length === BLOCK_BYTES && kept.length < KEPT) kept.push(this.#buffer);
  }
}
