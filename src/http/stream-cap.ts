// How many event streams each caller and each listener may have open at once: each holds a connection and the bytes that wait
// for its reader.
import { RemoraError } from '../core/remora-error.ts';

export interface StreamLimits {
  readonly ofCaller: number;
  readonly ofListener: number;
}

/** A caller at the agent reads a few streams; a platform has many machines. */
export const defaultStreamLimits: StreamLimits = { ofCaller: 64, ofListener: 10_000 };

const RETRY_MS = 5_000;

export class StreamCap {
  readonly #limits: StreamLimits;
  readonly #open = new Map<unknown, number>();

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /**
   * `caller` is equal for streams of one caller; undefined where callers cannot be distinguished. Throws `too_many_requests`.
   * Call the result once, when the stream is over.
   */
  open(listener: string, caller: unknown): () => void {
    this.#check(listener, this.#limits.ofListener, 'this listener');
    if (caller !== undefined) this.#check(caller, this.#limits.ofCaller, 'this caller');
    this.#add(listener, 1);
    if (caller !== undefined) this.#add(caller, 1);
    return () => {
      this.#add(listener, -1);
      if (caller !== undefined) this.#add(caller, -1);
    };
  }

  #check(key: unknown, most: number, who: string): void {
    if ((this.#open.get(key) ?? 0) < most) return;
    const message = `${who} has ${most} event streams open, which is the limit; close some`;
    throw new RemoraError('too_many_requests', message, { retryAfter_ms: RETRY_MS });
  }

  #add(key: unknown, by: number): void {
    const count = (this.#open.get(key) ?? 0) + by;
    if (count === 0) this.#open.delete(key);
    else this.#open.set(key, count);
  }
}
