// What waits for the disk, in its order.
import { LogBlock } from './log-block.ts';

/** A batch is over after about as much, so that a file is not far over its limit. */
const BATCH_BYTES = 1024 * 1024;

export interface Waiting {
  readonly bytes: Buffer;
  readonly lines: number;
  /** Whose memory the bytes are; to be released when they are written or lost. */
  readonly block?: LogBlock;
  /** Runs once the bytes before it are written or lost. */
  readonly onPassed?: (size_bytes: number) => void;
}

export class LogQueue {
  #items: Waiting[] = [];
  /** Comes after the items; lines are still put into it. */
  #block: LogBlock | undefined;
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#items.length === 0 && this.#block === undefined;
  }

  push(item: Waiting): void {
    this.#seal();
    this.#items.push(item);
    this.#bytes += item.bytes.length;
  }

  /** Whole lines, each to stand after the prefix. Keeps nothing of their memory. */
  pushLines(prefix: string, lines: Buffer): void {
    for (let at = 0; at < lines.length; ) {
      this.#block ??= LogBlock.open(prefix, lines);
      const before_bytes = this.#block.size_bytes;
      at = this.#block.push(prefix, lines, at);
      this.#bytes += this.#block.size_bytes - before_bytes;
      if (at < lines.length) this.#seal();
    }
  }

  /** Takes what waits up to the first one that somebody waits for, and not much at once. */
  takeBatch(): Waiting[] {
    this.#seal();
    let taken_bytes = 0;
    const isLast = ({ bytes, onPassed }: Waiting) => {
      taken_bytes += bytes.length;
      return onPassed !== undefined || taken_bytes >= BATCH_BYTES;
    };
    const end = this.#items.findIndex(isLast);
    this.#bytes -= taken_bytes;
    return this.#items.splice(0, end < 0 ? this.#items.length : end + 1);
  }

  #seal(): void {
    const block = this.#block;
    if (block === undefined) return;
    this.#block = undefined;
    this.#items.push({ bytes: block.bytes, lines: block.lines, block });
  }
}
