// Why a timer was late: our own loop was busy, nobody gave us a CPU, the VM stood still, or only this process did
// (resume.md, section 1).
import type { WakeSources } from './wake-sources.ts';

/** A timer that is later than this was not merely late. */
export const GAP_MS = 1_500;
/** A busy CPU ticks at 100 Hz or more; well below that it did not run. */
const TICKING_HZ = 30;
/** Timer interrupts of a VM that stood still come from the moments around the gap: a few a CPU, and some for slow clocks. */
const PAUSED_PER_CPU = 6;
const PAUSED_HZ = 5;
/** A hypervisor that starves a guest for longer than this has paused it. */
const STARVED_MAX_MS = 10_000;

/** What tells the causes apart, read before the gap and after it. */
export interface LoadSample {
  readonly mono_ms: number;
  readonly timerInterrupts: number | undefined;
  readonly steal_ms: readonly number[] | undefined;
  readonly runQueueWait_ms: number | undefined;
  readonly ownCpu_ms: number | undefined;
}

export type GapVerdict =
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved' }
  | {
      readonly type: 'away';
      readonly cause: 'vm_paused' | 'process_stopped';
      readonly certainty: 'certain' | 'likely' | 'possible';
    };

export function takeLoadSample(sources: WakeSources): LoadSample {
  return {
    mono_ms: sources.mono_ms(),
    timerInterrupts: sources.timerInterrupts(),
    steal_ms: sources.steal_ms(),
    runQueueWait_ms: sources.runQueueWait_ms(),
    ownCpu_ms: sources.ownCpu_ms(),
  };
}

/** @param continued whether a SIGCONT came with the end of the gap: then this process was stopped, and nothing else. */
export function judgeGap(gap_ms: number, before: LoadSample, after: LoadSample, continued: boolean): GapVerdict {
  const gap_s = gap_ms / 1_000;
  const ticks = difference(before.timerInterrupts, after.timerInterrupts);
  const busy_ms = difference(before.ownCpu_ms, after.ownCpu_ms) ?? 0;
  const stolen_ms = mostStolen(before.steal_ms, after.steal_ms);
  const waited_ms = (difference(before.runQueueWait_ms, after.runQueueWait_ms) ?? 0) + stolen_ms;
  if (busy_ms + waited_ms >= gap_ms / 2) {
    const ticking = ticks === undefined || ticks >= TICKING_HZ * gap_s;
    const starved = stolen_ms >= gap_ms / 2 && gap_ms <= STARVED_MAX_MS;
    if (ticking || starved) return { type: 'stall', why: busy_ms >= waited_ms ? 'busy' : 'starved' };
  }
  if (continued) return { type: 'away', cause: 'process_stopped', certainty: 'certain' };
  if (ticks === undefined || stolen_ms >= gap_ms / 2) {
    return { type: 'away', cause: 'vm_paused', certainty: 'possible' };
  }
  const limit = PAUSED_PER_CPU * (after.steal_ms?.length ?? 2) + PAUSED_HZ * gap_s;
  const clear = ticks < limit / 1.5 || ticks > limit * 1.5;
  const cause = ticks < limit ? 'vm_paused' : 'process_stopped';
  return { type: 'away', cause, certainty: clear ? 'likely' : 'possible' };
}

function difference(before: number | undefined, after: number | undefined): number | undefined {
  return before === undefined || after === undefined ? undefined : Math.max(0, after - before);
}

/** The CPU that lost most tells: this thread may have sat on it. */
function mostStolen(before: readonly number[] | undefined, after: readonly number[] | undefined): number {
  if (before === undefined || after === undefined || before.length !== after.length) return 0;
  return after.reduce((most, value, cpu) => Math.max(most, value - (before[cpu] ?? value)), 0);
}
