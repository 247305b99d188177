// How the machine and this thread used the CPU, read at a bounded cost: the cheap figures at every tick, the files that grow
// with the machine as often as their cost allows.
import { createCpuMeter } from './cpu-meter.ts';
import { createGapCounter, type GapCounter } from './gap-counter.ts';
import type { CpuTimes, ResumeSources } from './resume-sources.ts';
import { createTickRate } from './tick-rate.ts';

/** The greatest age of the costly figures, give or take a tick, as long as one reading costs less than five milliseconds. */
const OLDEST_MS = 750;
/** Readings cost a two-thousandth of a core while the figures stay young enough with that, and a two-hundredth at the most. */
const SMALL_SHARE = 2_000;
const LARGEST_SHARE = 200;

/** What happened during a gap. */
export interface GapLoad {
  /** Timer interrupts of all CPUs; undefined where they are not counted. */
  readonly ticks: number | undefined;
  /** Those of them that busy CPUs do not explain: each one says that an idle CPU ran. */
  readonly idleTicks: number;
  /** The possible error of `idleTicks`, as a share of those that are taken to have come before the gap. */
  readonly ticksError: number;
  /** Busy time of the CPU that was busy for longest. */
  readonly busiest_ms: number;
  /** Time that a CPU accounts for neither as busy nor as idle: it was busy, and the VM stood still. */
  readonly missing_ms: number;
  /** CPU time of this thread. */
  readonly busy_ms: number;
  /** Time for which this thread was ready and had no CPU. */
  readonly queued_ms: number;
  /** Time that the hypervisor gave to others, on the CPU that lost most. */
  readonly stolen_ms: number;
  readonly cpus: number;
}

/** Which figures this machine has. */
export interface LoadLive {
  readonly timer_interrupts: boolean;
  readonly steal: boolean;
  readonly run_queue: boolean;
}

export interface LoadMeter {
  /** Called at every tick: reads the figures that are due. Returns which figures exist when it read the costly ones. */
  tick(): LoadLive | undefined;
  /** The load during a gap that began at `began_ms` of run time. */
  readGap(began_ms: number): GapLoad;
}

const TICKS_ERROR = 0.2;
/** The number of CPUs where none can be counted. */
const USUAL_CPUS = 2;

export function createLoadMeter(sources: ResumeSources): LoadMeter {
  const cpus = createCpuMeter();
  const rate = createTickRate();
  const ticks = createGapCounter();
  const busy = createGapCounter();
  const queued = createGapCounter();
  let due_ms = Number.NEGATIVE_INFINITY;
  let cost_ms = 0;

  function learnRate(interrupts: number | undefined, times: readonly CpuTimes[] | undefined): void {
    if (interrupts === undefined || times === undefined) return;
    rate.note(
      interrupts,
      times.reduce((sum, { busy_ms }) => sum + busy_ms, 0),
    );
  }

  /** The cheaper of two costs counts: one slow reading, of memory that is loaded lazily, must not delay the next ones. */
  function postpone(begun_ms: number, now_ms: number): void {
    const measured_ms = now_ms - begun_ms;
    const counted_ms = Math.min(measured_ms, cost_ms);
    cost_ms = measured_ms;
    due_ms = now_ms + Math.max(Math.min(counted_ms * SMALL_SHARE, OLDEST_MS), counted_ms * LARGEST_SHARE);
  }

  return {
    tick() {
      const mono_ms = sources.mono_ms();
      busy.note(sources.ownCpu_ms(), mono_ms);
      const waited_ms = sources.runQueueWait_ms();
      queued.note(waited_ms, mono_ms);
      if (mono_ms < due_ms) return undefined;
      const interrupts = sources.timerInterrupts();
      ticks.note(interrupts, mono_ms);
      const times = sources.cpus();
      cpus.note(times, mono_ms);
      learnRate(interrupts, times);
      postpone(mono_ms, sources.mono_ms());
      return {
        timer_interrupts: interrupts !== undefined,
        steal: times !== undefined,
        run_queue: waited_ms !== undefined,
      };
    },
    readGap(began_ms) {
      const mono_ms = sources.mono_ms();
      const within = (counter: GapCounter, value: number | undefined) =>
        counter.rise(value, mono_ms, began_ms)?.within ?? 0;
      const ticked = ticks.rise(sources.timerInterrupts(), mono_ms, began_ms);
      const times = sources.cpus();
      const { missing_ms, busy_ms, busiest_ms, stolen_ms, busyBefore_ms } = cpus.readGap(times, mono_ms, began_ms);
      const idleTicks = (all: number, ofBusy_ms: number) => Math.max(0, all - (rate.hz * ofBusy_ms) / 1_000);
      return {
        ticks: ticked?.within,
        idleTicks: idleTicks(ticked?.within ?? 0, busy_ms),
        ticksError: idleTicks(ticked?.before ?? 0, busyBefore_ms) * TICKS_ERROR,
        busiest_ms,
        missing_ms,
        busy_ms: within(busy, sources.ownCpu_ms()),
        queued_ms: within(queued, sources.runQueueWait_ms()),
        stolen_ms,
        cpus: times?.length ?? USUAL_CPUS,
      };
    },
  };
}
