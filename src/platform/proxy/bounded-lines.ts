// Lines about what outsiders can cause as often as they like: the first at once, and a minute later how many more there were.
import type { Log } from '../../core/log.ts';

export interface BoundedLinesOptions {
  readonly log: Pick<Log, 'warn'>;
  /** The message of the first one. */
  readonly first: string;
  /** The message of the line that counts all of them. */
  readonly all: string;
  readonly every_ms?: number;
}

const EVERY_MS = 60_000;

export class BoundedLines {
  readonly #options: BoundedLinesOptions;
  #count = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BoundedLinesOptions) {
    this.#options = options;
  }

  /** `fields`: of the line, if there is one. */
  note(fields: object): void {
    const { log, first, all, every_ms = EVERY_MS } = this.#options;
    this.#count += 1;
    if (this.#timer !== undefined) return;
    log.warn(fields, first);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#count > 1) log.warn({ refused: this.#count }, all);
      this.#count = 0;
    }, every_ms).unref();
  }
}
