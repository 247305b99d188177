// The lines of a busy log, written together: a write for each line costs more than what makes the line. A line that comes after a pause is
// written at once.
import { pino } from 'pino';
import type { LogDestination } from './log-destination.ts';

/** How long a line waits for others. */
const HOLD_MS = 20;
/** How many bytes of lines wait, about. */
const HELD_MAX = 64 * 1024;
/** What waits at most for a reader that is slow, or a disk that is full; what comes then is dropped. */
const WAITING_MAX = 16 * 1024 * 1024;

export class HeldLines implements LogDestination {
  readonly #stream: ReturnType<typeof pino.destination>;
  #held = '';
  #timer: NodeJS.Timeout | undefined;

  /** What is held is written before the process ends by itself. */
  constructor(fd: 1 | 2) {
    this.#stream = pino.destination({ dest: fd, sync: true, maxLength: WAITING_MAX });
    // A log whose reader is gone must not end the daemon.
    this.#stream.on('error', () => undefined);
    process.once('exit', this.flushSync);
  }

  write(line: string): void {
    this.#held += line;
    if (this.#timer === undefined) this.#onTime();
    else if (this.#held.length >= HELD_MAX) this.flushSync();
  }

  readonly flushSync = (): void => {
    if (this.#held === '') return;
    const lines = this.#held;
    this.#held = '';
    this.#stream.write(lines);
  };

  readonly #onTime = (): void => {
    this.#timer = undefined;
    if (this.#held === '') return;
    this.flushSync();
    this.#timer = setTimeout(this.#onTime, HOLD_MS).unref();
  };
}
