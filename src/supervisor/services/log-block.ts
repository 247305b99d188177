// Memory in which many lines are put together for one write. A service may print millions of lines a second: nothing is allocated for a
// line, and large blocks are used again and again.
import { countLines } from './count-lines.ts';

const LF = 0x0a;
const EVERY_LF = /\n/g;
/** More than what is stamped at once becomes by its stamps. */
const BLOCK_BYTES = 512 * 1024;
/** So much is stamped at once: texts of this size cost the least. */
const STAMPED_BYTES = 8 * 1024;
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

  /** With room for these lines, or for many. */
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
   * @param prefix ASCII, without a `$`
   * @param lines ends with a newline; no line has more than 64 KB
   * @returns where the first line begins that is not in the block
   */
  push(prefix: string, lines: Buffer, start = 0): number {
    let begin = start;
    while (begin < lines.length) {
      const end = toEnd(lines, begin);
      // As a text that has one character for each byte, the bytes stay as they are, and one call stamps all of its lines.
      const text = lines.toString('latin1', begin, end - 1).replace(EVERY_LF, `\n${prefix}`);
      const bytes = prefix.length + text.length + 1;
      if (this.#length + bytes > this.#buffer.length) break;
      this.#buffer.write(prefix, this.#length, 'latin1');
      this.#buffer.write(text, this.#length + prefix.length, 'latin1');
      this.#length += bytes;
      this.#buffer[this.#length - 1] = LF;
      this.#lines += 1 + (text.length - (end - 1 - begin)) / prefix.length;
      begin = end;
    }
    return begin;
  }

  /** Its memory is used again. */
  release(): void {
    if (this.#buffer.length === BLOCK_BYTES && kept.length < KEPT) kept.push(this.#buffer);
  }
}

/** The end of the lines that are stamped at once: at least one. */
function toEnd(lines: Buffer, begin: number): number {
  const end = lines.lastIndexOf(LF, begin + STAMPED_BYTES - 1) + 1;
  return end > begin ? end : lines.indexOf(LF, begin) + 1;
}
