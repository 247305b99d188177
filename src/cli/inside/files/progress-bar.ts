// Shows on a terminal how far a copy is, once it takes longer than a second.
import { Readable } from 'node:stream';
import type { WriteStream } from 'node:tty';
import { toPrintable } from '../../table.ts';
import { toProgressLine } from './progress-line.ts';

const SHOWN_AFTER_MS = 1_000;
const EVERY_MS = 200;
const CLEAR = '\r\x1b[K';

export class ProgressBar implements Disposable {
  readonly #terminal: WriteStream | undefined;
  readonly #begun_ms = performance.now();
  readonly #drawing: NodeJS.Timeout | undefined;
  #label = '';
  #done_bytes = 0;
  #total_bytes: number | undefined = 0;

  /** Nothing is shown where there is no terminal. */
  constructor(terminal: WriteStream | undefined) {
    this.#terminal = terminal;
    this.#drawing = terminal === undefined ? undefined : setInterval(() => this.#draw(), EVERY_MS);
  }

  /** `content` as it is, counted as it passes. `size_bytes` is undefined where it is not known. */
  count(label: string, content: Readable, size_bytes: number | undefined): Readable {
    this.#label = toPrintable(label);
    if (size_bytes === undefined || this.#total_bytes === undefined) this.#total_bytes = undefined;
    else this.#total_bytes += size_bytes;
    return Readable.from(this.#pass(content), { objectMode: false });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#drawing);
    if (this.#elapsed_ms() < SHOWN_AFTER_MS) return;
    this.#draw();
    this.#terminal?.write('\n');
  }

  async *#pass(content: Readable): AsyncGenerator<Buffer> {
    for await (const chunk of content as AsyncIterable<Buffer>) {
      this.#done_bytes += chunk.length;
      yield chunk;
    }
  }

  #draw(): void {
    if (this.#terminal === undefined || this.#elapsed_ms() < SHOWN_AFTER_MS) return;
    const progress = {
      label: this.#label,
      done_bytes: this.#done_bytes,
      total_bytes: this.#total_bytes,
      elapsed_ms: this.#elapsed_ms(),
    };
    this.#terminal.write(`${CLEAR}${toProgressLine(progress, this.#terminal.columns || 80)}`);
  }

  #elapsed_ms(): number {
    return performance.now() - this.#begun_ms;
  }
}
