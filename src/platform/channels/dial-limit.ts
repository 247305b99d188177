// How often a machine may open its channel. After a channel that was cut for what came over it the next one has to wait, each time twice
// as long.
import { RemoraError } from '../../core/remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../../core/token-bucket.ts';

const BURST = 30;
const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 10 * 60_000;
/** A machine that behaved for so long begins at the first wait again. */
const FORGET_MS = 60 * 60_000;
const MACHINES_KEPT = 10_000;

interface Dials {
  readonly bucket: TokenBucket;
  faults: number;
  fault_ms: number;
  until_ms: number;
}

export class DialLimit {
  readonly #machines = new Map<string, Dials>();
  readonly #now_ms: () => number;

  /** `now_ms`: monotonic. */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms;
  }

  /** Counts a dial. Throws `too_many_requests` with the time after which there is room. */
  take(machine_id: string): void {
    const dials = this.#of(machine_id);
    const wait_ms = Math.max(dials.until_ms - this.#now_ms(), dials.bucket.wait_ms());
    if (wait_ms > 0) {
      const why =
        dials.until_ms > this.#now_ms() ? 'its last channel was cut for what came over it' : 'it dials too often';
      throw new RemoraError('too_many_requests', `this machine gets no channel yet: ${why}`, {
        retryAfter_ms: Math.ceil(wait_ms),
      });
    }
    dials.bucket.take();
  }

  /** The channel of a machine was cut for what came over it. */
  onFault(machine_id: string): void {
    const dials = this.#of(machine_id);
    const now_ms = this.#now_ms();
    if (now_ms - dials.fault_ms > FORGET_MS) dials.faults = 0;
    dials.until_ms = now_ms + Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(dials.faults, 10));
    dials.fault_ms = now_ms;
    dials.faults += 1;
  }

  #of(machine_id: string): Dials {
    const known = this.#machines.get(machine_id);
    const bucket = () => createTokenBucket({ capacity: BURST, refillPerSecond: 1, now_ms: this.#now_ms });
    const dials = known ?? { bucket: bucket(), faults: 0, fault_ms: 0, until_ms: 0 };
    this.#machines.delete(machine_id);
    this.#machines.set(machine_id, dials);
    const [oldest] = this.#machines.keys();
    if (this.#machines.size > MACHINES_KEPT && oldest !== undefined) this.#machines.delete(oldest);
    return dials;
  }
}
