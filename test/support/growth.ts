// How the cost of some work grows with its input, measured so that a busy machine does not count: the least time that this thread
// was running, of many runs.
import { threadTime_ms } from './thread-time.ts';

/** Runs for each size, the most that are made before the ratio is believed, and how often it is measured again before that. */
const BATCH = 5;
const BATCHES_MAX = 24;
const ATTEMPTS = 4;
/** A pause before it is measured again: on a busy machine the thread that compiles what runs often may not have had its turn. */
const PAUSE_MS = 100;
/** What takes less than this is decided by the resolution of the clock. A cost that grows with the square is far above it at 8 KB. */
const LEAST_MS = 0.1;

/**
 * The least time for `large` divided by the least time for `small`. Stops as soon as it is at most `enough`, so that only what
 * grows too fast is measured for long.
 */
export function growthOf(work: (input: string) => unknown, small: string, large: string, enough: number): number {
  let least = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < ATTEMPTS && least > enough; attempt += 1) {
    if (attempt > 0) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    least = Math.min(least, measureOnce(work, small, large, enough));
  }
  return least;
}

function measureOnce(work: (input: string) => unknown, small: string, large: string, enough: number): number {
  let [small_ms, large_ms] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  let ratio = Number.POSITIVE_INFINITY;
  for (let batch = 0; batch < BATCHES_MAX && ratio > enough; batch += 1) {
    for (let run = 0; run < BATCH; run += 1) {
      small_ms = Math.min(
        small_ms,
        threadTime_ms(() => work(small)),
      );
      large_ms = Math.min(
        large_ms,
        threadTime_ms(() => work(large)),
      );
    }
    ratio = large_ms < LEAST_MS ? 1 : large_ms / Math.max(small_ms, LEAST_MS / 2);
  }
  return ratio;
}
