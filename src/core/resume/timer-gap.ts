// Why a timer was late: the event loop was busy, the process got no CPU, the VM stood still, or only this process did.
import type { GapLoad } from './load-meter.ts';

/** A timer that is later than this was delayed by a gap. */
export const GAP_MS = 1_500;
/** A busy CPU ticks at 100 Hz or more; with far fewer ticks it did not run. */
const TICKING_HZ = 30;
/**
 * Timer interrupts of a VM that stood still come from the moments around the gap: a few for each CPU, and some for slow clocks.
 */
const PAUSED_PER_CPU = 6;
const PAUSED_HZ = 5;
/** A hypervisor that starves a guest for longer has paused it. */
const STARVED_MAX_MS = 10_000;

export type GapVerdict =
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved' }
  | {
      readonly type: 'away';
      readonly cause: 'vm_paused' | 'process_stopped';
      readonly certainty: 'certain' | 'likely' | 'possible';
    };

/** @param continued whether a SIGCONT came at the end of the gap: then this process was stopped, and nothing else. */
export function judgeGap(gap_ms: number, load: GapLoad, continued: boolean): GapVerdict {
  const gap_s = gap_ms / 1_000;
  const { ticks, busy_ms, stolen_ms } = load;
  const waited_ms = load.queued_ms + stolen_ms;
  if (busy_ms + waited_ms >= gap_ms / 2) {
    const ticking = ticks === undefined || ticks >= TICKING_HZ * gap_s;
    const starved = stolen_ms >= gap_ms / 2 && gap_ms <= STARVED_MAX_MS;
    if (ticking || starved) return { type: 'stall', why: busy_ms >= waited_ms ? 'busy' : 'starved' };
  }
  if (continued) return { type: 'away', cause: 'process_stopped', certainty: 'certain' };
  if (ticks === undefined || stolen_ms >= gap_ms / 2) {
    return { type: 'away', cause: 'vm_paused', certainty: 'possible' };
  }
  const limit = PAUSED_PER_CPU * load.cpus + PAUSED_HZ * gap_s + load.ticksError;
  const clear = ticks < limit / 1.5 || ticks > limit * 1.5;
  const cause = ticks < limit ? 'vm_paused' : 'process_stopped';
  return { type: 'away', cause, certainty: clear ? 'likely' : 'possible' };
}
