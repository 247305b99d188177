// When a service that crashed is started again, and how often that was done.
import { toRestartDelay } from './restart-delay.ts';

export class Restarts {
  readonly #steady_ms: number;
  #crashes = 0;
  #timer: NodeJS.Timeout | undefined;
  #count = 0;
  #next_ms: number | undefined;

  /** @param steady_ms after how long up the next crash counts as the first one. */
  constructor(steady_ms: number) {
    this.#steady_ms = steady_ms;
  }

  /** How often it was started again since somebody started it. */
  get count(): number {
    return this.#count;
  }

  /** The wall time of the next start; undefined while none is due. */
  get next_ms(): number | undefined {
    return this.#next_ms;
  }

  onRunning(): void {
    this.cancel();
    this.#timer = setTimeout(() => {
      this.#crashes = 0;
    }, this.#steady_ms);
    this.#timer.unref();
  }

  onFailed(wall_ms: number, start: () => void): void {
    this.cancel();
    this.#crashes += 1;
    const delay_ms = toRestartDelay(this.#crashes);
    this.#next_ms = wall_ms + delay_ms;
    this.#timer = setTimeout(() => {
      this.#count += 1;
      start();
    }, delay_ms);
  }

  /** Nothing is due any more. */
  cancel(): void {
    clearTimeout(this.#timer);
    this.#next_ms = undefined;
  }

  /** Somebody starts it: what was before does not count. */
  forget(): void {
    this.cancel();
    this.#crashes = 0;
    this.#count = 0;
  }
}
