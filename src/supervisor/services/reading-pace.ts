// How fast the output of one service is read: it gets a share of one core, so that one that prints without end takes from nobody. What is
// not read waits in its pipe, and then the service waits. Pure.

/** The share of the time of this thread; the writes to the disk come on top. */
const SHARE = 0.2;
/** What a read costs besides the work on its bytes. */
const READ_MS = 0.02;
/** Shorter pauses are put together: the two outputs of a program that prints now and then keep their order. */
const PAUSE_MS = 20;

export class ReadingPace {
  #owed_ms = 0;
  #end_ms = Number.NEGATIVE_INFINITY;

  /** How many milliseconds the next read should wait, after one whose work ran from `begin_ms` to `end_ms`. */
  take(begin_ms: number, end_ms: number): number {
    const rested_ms = begin_ms - this.#end_ms;
    const worked_ms = end_ms - begin_ms + READ_MS;
    this.#end_ms = end_ms;
    this.#owed_ms = Math.max(0, this.#owed_ms - rested_ms) + worked_ms * (1 / SHARE - 1);
    return this.#owed_ms < PAUSE_MS ? 0 : Math.ceil(this.#owed_ms);
  }
}
