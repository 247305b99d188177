// Shares the event loop fairly between organizations. In each turn of the loop the first call of an organization goes on at once, and
// its further calls wait. Calls that wait get a slice of each later turn, one call of each organization in rotation, so that a call
// never waits for all calls of another organization.
import { RemoraError } from '../../core/remora-error.ts';

/** How much of each turn goes to calls that had to wait. */
const SLICE_MS = 1;
/** The most calls of one key that wait. */
const WAITING_MAX = 1_024;
const RETRY_MS = 1_000;

export class FairTurns {
  readonly #slice_ms: number;
  readonly #waiting = new Map<string, (() => void)[]>();
  /** The keys that had a call in this turn. */
  readonly #served = new Set<string>();
  #isArmed = false;
  #begun_ms = 0;

  constructor(slice_ms = SLICE_MS) {
    this.#slice_ms = slice_ms;
  }

  /** Undefined when the call may go on at once; otherwise resolves when it may. Throws `too_many_requests`. */
  enter(key: string): Promise<void> | undefined {
    if (!this.#isArmed) {
      this.#isArmed = true;
      setImmediate(this.#onTurn);
    }
    const waiting = this.#waiting.get(key);
    if (waiting === undefined && !this.#served.has(key)) {
      this.#served.add(key);
      return undefined;
    }
    if (waiting !== undefined && waiting.length >= WAITING_MAX) {
      throw new RemoraError('too_many_requests', 'too many calls of this caller are waiting; let some finish', {
        retryAfter_ms: RETRY_MS,
      });
    }
    return new Promise((resolve) => {
      if (waiting === undefined) this.#waiting.set(key, [resolve]);
      else waiting.push(resolve);
    });
  }

  readonly #onTurn = (): void => {
    this.#served.clear();
    this.#isArmed = this.#waiting.size > 0;
    if (!this.#isArmed) return;
    this.#begun_ms = performance.now();
    this.#step();
  };

  /** Lets one call go on, and runs again after that call has yielded. */
  readonly #step = (): void => {
    const [first] = this.#waiting;
    if (first === undefined || performance.now() - this.#begun_ms >= this.#slice_ms) {
      // Armed even when no call is left: keys that came meanwhile have had their call of this turn.
      setImmediate(this.#onTurn);
      return;
    }
    const [key, waiting] = first;
    const go = waiting.shift();
    // The key moves to the end of the queue, so that the next call is another key's.
    this.#waiting.delete(key);
    if (waiting.length > 0) this.#waiting.set(key, waiting);
    go?.();
    queueMicrotask(() => process.nextTick(this.#step));
  };
}
