// How much a process prints, in bytes each second, over the last seconds. Pure.
const WINDOW_MS = 5_000;

export class ByteRate {
  #start_ms = 0;
  #bytes = 0;
  #last = 0;

  add(bytes: number, now_ms: number): void {
    this.#turn(now_ms);
    this.#bytes += bytes;
  }

  /** The rate of the last whole window, or of the present one if it is higher. */
  read(now_ms: number): number {
    this.#turn(now_ms);
    return Math.round(Math.max(this.#last, (this.#bytes * 1_000) / WINDOW_MS));
  }

  #turn(now_ms: number): void {
    const passed_ms = now_ms - this.#start_ms;
    if (passed_ms < WINDOW_MS) return;
    this.#last = passed_ms < 2 * WINDOW_MS ? (this.#bytes * 1_000) / WINDOW_MS : 0;
    this.#start_ms = now_ms;
    this.#bytes = 0;
  }
}
