// How often each thing may be done to one machine, as the Fly Machines API has it: so many at once, then so many a second.
import { RemoraError } from '../../../core/remora-error.ts';
import { createTokenBucket, type TokenBucket } from '../../../core/token-bucket.ts';

export interface MachineRate {
  readonly burst: number;
  readonly perSecond: number;
}

/** `moves`: whatever changes something. */
export interface MachineRateOptions {
  readonly moves: MachineRate;
  readonly reads: MachineRate;
}

export interface MachineRates {
  /** `what`: the action and the machine. Throws `too_many_requests` with the time after which there is room. */
  take(kind: keyof MachineRateOptions, what: string): void;
}

export const defaultMachineRates: MachineRateOptions = {
  moves: { burst: 3, perSecond: 1 },
  reads: { burst: 10, perSecond: 5 },
};

/** A bucket that newer ones push out starts full again. */
const KEPT = 10_000;

/** `now_ms`: monotonic. */
export function createMachineRates(rates: MachineRateOptions, now_ms: () => number): MachineRates {
  const buckets = new Map<string, TokenBucket>();
  return {
    take(kind, what) {
      const { burst, perSecond } = rates[kind];
      const bucket = buckets.get(what) ?? createTokenBucket({ capacity: burst, refillPerSecond: perSecond, now_ms });
      buckets.delete(what);
      buckets.set(what, bucket);
      if (buckets.size > KEPT) {
        const [oldest] = buckets.keys();
        if (oldest !== undefined) buckets.delete(oldest);
      }
      if (bucket.take()) return;
      const message = `this may be done ${perSecond === 1 ? 'once' : `${perSecond} times`} a second for each machine; wait and try again`;
      throw new RemoraError('too_many_requests', message, { retryAfter_ms: bucket.wait_ms() });
    },
  };
}
