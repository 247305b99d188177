// Run time: how long the machine has been running. It is the monotonic clock, less the gaps during which that clock ran on
// although nothing in the machine did (a stopped process, a VM paused with its clock running).
import type { Clock } from './clock.ts';

export interface RunClock {
  /** Milliseconds; only differences are meaningful. */
  now_ms(): number;
  /** Takes a gap off: during a resume the monotonic clock ran on for `gap_ms` while the machine did not. */
  skip(gap_ms: number): void;
}

export function createRunClock(clock: Clock): RunClock {
  let skipped_ms = 0;
  return {
    now_ms: () => clock.mono_ms() - skipped_ms,
    skip(gap_ms) {
      skipped_ms += Math.max(0, gap_ms);
    },
  };
}
