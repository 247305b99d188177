// Why a timer was late: the event loop was busy, the process got no CPU, the VM stood still, only this process did, or the host held all of
// the machine still for a copy.
import type { GapLoad } from './load-meter.ts';

/** A timer that is later than this was delayed by a gap. */
export const GAP_MS = 1_500;
/** A busy CPU ticks at 100 Hz or more; with far fewer ticks it did not run. */
const TICKING_HZ = 30;
/**
 * What idle CPUs are interrupted for in the moments around a pause of the VM: a few times each, and some for slow clocks. Measured in
 * pauses of 2 to 20 s: none to six. While only this process stood still, they were interrupted 20 times a second. The interrupts of
 * busy CPUs say nothing: after a pause everything that waited is due at once, and the machine is busy for a while.
 */
const PAUSED_PER_CPU = 6;
const PAUSED_HZ = 3;
/** A thread that waits for a CPU of a busy host has a smaller share of the gap in no account. */
const MISSING_SURE = 0.75;
/** A hypervisor that starves a guest for longer has paused it. */
const STARVED_MAX_MS = 10_000;

export type GapVerdict =
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved' | 'held' }
  | {
      readonly type: 'away';
      readonly cause: 'vm_paused' | 'process_stopped';
      readonly certainty: 'certain' | 'likely' | 'possible';
    };

const PAUSED: GapVerdict = { type: 'away', cause: 'vm_paused', certainty: 'likely' };

/** @param continued whether a SIGCONT came at the end of the gap: then this process was stopped, and nothing else. */
export function judgeGap(gap_ms: number, load: GapLoad, continued: boolean): GapVerdict {
  const gap_s = gap_ms / 1_000;
  const { ticks, busy_ms, stolen_ms } = load;
  const waited_ms = load.queued_ms + stolen_ms;
  if (!continued && load.missing_ms >= gap_ms * MISSING_SURE) return PAUSED;
  if (busy_ms + waited_ms >= gap_ms / 2) {
    const ticking = ticks === undefined || ticks >= TICKING_HZ * gap_s;
    const starved = stolen_ms >= gap_ms / 2 && gap_ms <= STARVED_MAX_MS;
    if (ticking || starved) return { type: 'stall', why: busy_ms >= waited_ms ? 'busy' : 'starved' };
  }
  if (continued) return { type: 'away', cause: 'process_stopped', certainty: 'certain' };
  if (load.missing_ms >= gap_ms / 2) return PAUSED;
  if (ticks === undefined || stolen_ms >= gap_ms / 2) {
    return { type: 'away', cause: 'vm_paused', certainty: 'possible' };
  }
  if (load.busiest_ms >= gap_ms / 2 && ticks >= TICKING_HZ * gap_s) {
    return { type: 'away', cause: 'process_stopped', certainty: 'likely' };
  }
  const limit = PAUSED_PER_CPU * load.cpus + PAUSED_HZ * gap_s + load.ticksError;
  const clear = load.idleTicks < limit / 1.5 || load.idleTicks > limit * 1.5;
  const cause = load.idleTicks < limit ? 'vm_paused' : 'process_stopped';
  return { type: 'away', cause, certainty: clear ? 'likely' : 'possible' };
}
