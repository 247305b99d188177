// What the CPUs did during a gap. A machine that runs accounts for all of its time, busy, idle or stolen; one that stood still while
// a CPU was busy does not, because the time of a busy CPU is counted by the timer interrupts that it gets.
import { createGapCounter, type GapCounter } from './gap-counter.ts';
import type { CpuTimes } from './resume-sources.ts';

export interface CpuLoad {
  /** Time that is in no account, on the CPU that misses most, by what was accounted for before the gap. */
  readonly missing_ms: number;
  /** The busy time of all CPUs. */
  readonly busy_ms: number;
  /** The busy time of the CPU that was busy for longest. */
  readonly busiest_ms: number;
  /** The stolen time of the CPU that lost most to others. */
  readonly stolen_ms: number;
  /** Busy time of all CPUs that is taken to have come before the gap. */
  readonly busyBefore_ms: number;
}

export interface CpuMeter {
  /** Records a reading of ordinary time. */
  note(cpus: readonly CpuTimes[] | undefined, mono_ms: number): void;
  /** Records a reading after a gap, and says what happened in the gap. */
  readGap(cpus: readonly CpuTimes[] | undefined, mono_ms: number, began_ms: number): CpuLoad;
}

interface CpuCounters {
  readonly accounted: GapCounter;
  readonly busy: GapCounter;
  readonly stolen: GapCounter;
}

/** Figures stand still in some sandboxes, and fall short where a VM cannot tell what its host gives to others: nothing of these is missing. */
const ACCOUNTED_MIN = 0.5;

const accountedOf = ({ busy_ms, idle_ms, stolen_ms }: CpuTimes) => busy_ms + idle_ms + stolen_ms;

export function createCpuMeter(): CpuMeter {
  let counters: CpuCounters[] = [];

  /** All are new when the number of CPUs has changed. */
  function paired(cpus: readonly CpuTimes[]): (readonly [CpuTimes, CpuCounters])[] {
    if (counters.length !== cpus.length) {
      counters = cpus.map(() => {
        return { accounted: createGapCounter(), busy: createGapCounter(), stolen: createGapCounter() };
      });
    }
    return cpus.flatMap((times, cpu) => {
      const own = counters[cpu];
      return own === undefined ? [] : [[times, own] as const];
    });
  }

  return {
    note(cpus, mono_ms) {
      for (const [times, { accounted, busy, stolen }] of paired(cpus ?? [])) {
        accounted.note(accountedOf(times), mono_ms);
        busy.note(times.busy_ms, mono_ms);
        stolen.note(times.stolen_ms, mono_ms);
      }
    },
    readGap(cpus, mono_ms, began_ms) {
      const load = { missing_ms: 0, busy_ms: 0, busiest_ms: 0, stolen_ms: 0, busyBefore_ms: 0 };
      for (const [times, counter] of paired(cpus ?? [])) {
        const accounted = counter.accounted.rise(accountedOf(times), mono_ms, began_ms);
        const busy = counter.busy.rise(times.busy_ms, mono_ms, began_ms);
        const stolen = counter.stolen.rise(times.stolen_ms, mono_ms, began_ms);
        if (accounted !== undefined && accounted.perMs >= ACCOUNTED_MIN) {
          const expected_ms = accounted.elapsed_ms * Math.min(1, accounted.perMs);
          load.missing_ms = Math.max(load.missing_ms, expected_ms - accounted.whole);
        }
        load.busy_ms += busy?.within ?? 0;
        load.busyBefore_ms += busy?.before ?? 0;
        load.busiest_ms = Math.max(load.busiest_ms, busy?.within ?? 0);
        load.stolen_ms = Math.max(load.stolen_ms, stolen?.within ?? 0);
      }
      return load;
    },
  };
}
