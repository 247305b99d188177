// A kernel made of numbers, which can show every combination of clocks and counters that a suspend, pause or restore leaves.
// Nothing moves unless a method is called; `run` lets ordinary time pass.
import type { PauseCounts } from '../../src/core/resume/pause-counts.ts';
import type { Kernel } from '../../src/linux/kernel/kernel.ts';

export interface ScriptedKernelOptions {
  /** Sources this machine does not have. */
  readonly without?: readonly ('generation' | 'rtc' | 'boot' | 'interrupts' | 'steal' | 'run_queue')[];
  /** What the hardware clock keeps instead of UTC. */
  readonly rtcZone_ms?: number;
  /** How often the timer interrupts a busy CPU. */
  readonly hz?: number;
  /** The times of the CPUs stand still, as in some sandboxes. */
  readonly stillCpus?: boolean;
}

export interface ScriptedKernel extends Kernel {
  /** Ordinary time on a quiet machine. */
  run(ms: number): void;
  /** Restored in a new VM process after `away_ms`, which no clock of the guest shows; loading takes 234 ms. */
  restore(away_ms?: number): void;
  /** Back to a snapshot that was taken a moment ago; memory goes back with it, so only the counter tells. */
  rewind(): void;
  /** Paused and continued, with the guest's clocks frozen or running. */
  pauseFrozen(ms: number): void;
  pauseRunning(ms: number): void;
  /** The same while our own loop waits for a CPU that others have. */
  pauseWaiting(ms: number): void;
  guestSleep(ms: number): void;
  /** Ordinary time on a machine whose CPUs are busy, with this share of one in our own loop. */
  load(ms: number, own?: number): void;
  /** Others have the CPUs before the next look, as right after a pause, when everything that waited is due. */
  catchUp(ms: number): void;
  /** Only our process stands still; `continued` is told when it goes on. */
  stop(ms: number): void;
  /** The same for a freezer, which tells nobody; so many CPUs are busy in that time. */
  freeze(ms: number, busy?: number): void;
  /** The host counts a pause; call it before the time of the pause. */
  countPauses(counts: PauseCounts | undefined): void;
  /** Our own loop is busy. */
  block(ms: number): void;
  /** The host gives the CPUs to others: the share `steal` of the time is counted as stolen. */
  starve(ms: number, steal?: number): void;
  /** Others inside the guest have the CPU. */
  crowd(ms: number): void;
  /** The wall clock is set, or the hardware clock is written from it. */
  stepWall(ms: number): void;
  writeRtc(): void;
  /** A source fails, or works again. */
  lose(source: 'generation' | 'rtc' | 'interrupts'): void;
  find(source: 'generation' | 'rtc' | 'interrupts'): void;
  /** SIGCONT without a stop that was long enough to matter. */
  sendContinue(): void;
  /** The next reading of this source takes so long, as when its pages are loaded at the first touch after a restore. */
  delay(source: SlowSource, ms: number): void;
  /** Every reading of the timer interrupts takes so long from here on. */
  setCost(ms: number): void;
  /** How often the timer interrupts were read. */
  readonly interruptReads: number;
  /** What a well-kept clock elsewhere shows. */
  readonly truth_ms: number;
}

export const slowSources = [
  'wall',
  'boot',
  'rtc',
  'generation',
  'interrupts',
  'steal',
  'run_queue',
  'own_cpu',
] as const;
export type SlowSource = (typeof slowSources)[number];

export const START_WALL_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 0);
const CPUS = 2;
/** The rate of the kernels of Debian, Ubuntu and Firecracker's guides. */
const USUAL_HZ = 250;
/** Timer interrupts of idle CPUs, all together. */
const IDLE_HZ = 35;
/** Measured: 149 timer interrupts in 12 s in which our process was stopped, 22 in 12 s in which the VM was. */
const STOPPED_IDLE_HZ = 10;
const STOPPED_BUSY = 0.01;
const QUIET_BUSY = 0.02;
const PAUSED_INTERRUPTS = 22;
const BOOT_BUSY_MS = 60_000;
/** The unit of the times of the CPUs. */
const UNIT_MS = 10;

export function createScriptedKernel(options: ScriptedKernelOptions = {}): ScriptedKernel {
  const missing = new Set<string>(options.without ?? []);
  const hz = options.hz ?? USUAL_HZ;
  const listeners = new Set<() => void>();
  let truth_ms = START_WALL_MS;
  let mono_ms = 100_000;
  let boot_ms = 100_000;
  let wall_ms = START_WALL_MS;
  let rtcOffset_ms = options.rtcZone_ms ?? 0;
  let interrupts = (hz * BOOT_BUSY_MS * CPUS) / 1_000;
  let generation = 1;
  let ownCpu_ms = 2_000;
  let wait_ms = 10;
  const cpus = Array.from({ length: CPUS }, (_, cpu) => ({
    busy_ms: BOOT_BUSY_MS,
    idle_ms: 40_000,
    stolen_ms: 5 + cpu,
  }));
  /** How many CPUs were busy last. */
  let busyCpus = QUIET_BUSY;
  const delays = new Map<SlowSource, number>();
  let cost_ms = 0;
  let interruptReads = 0;
  let pauses: PauseCounts | undefined;

  /** The value is that of the moment before the time passes: what a reader gets late. */
  function read<T>(source: SlowSource, value: () => T): T | undefined {
    const got = missing.has(source) ? undefined : value();
    const delay_ms = (delays.get(source) ?? 0) + (source === 'interrupts' ? cost_ms : 0);
    delays.delete(source);
    if (delay_ms > 0) pass(delay_ms);
    return got;
  }

  function moveClocks(ms: number): void {
    truth_ms += ms;
    mono_ms += ms;
    boot_ms += ms;
    wall_ms += ms;
  }

  /** `idleHz`: timer interrupts of idle CPUs. */
  function pass(ms: number, busy = QUIET_BUSY, idleHz = IDLE_HZ): void {
    moveClocks(ms);
    busyCpus = busy;
    interrupts += Math.round(((busy * hz + idleHz) * ms) / 1_000);
    if (options.stillCpus === true) return;
    for (const [cpu, times] of cpus.entries()) {
      const share = Math.min(1, Math.max(0, busy - cpu));
      times.busy_ms += ms * share;
      times.idle_ms += ms * (1 - share);
    }
  }

  function run(ms: number): void {
    pass(ms);
    ownCpu_ms += ms * 0.005;
  }

  /** An idle CPU finds out how late it is and counts that as idle; a busy one counts what its timer tells. */
  function pauseRunning(ms: number): void {
    moveClocks(ms);
    interrupts += PAUSED_INTERRUPTS;
    for (const [cpu, times] of cpus.entries()) if (busyCpus < cpu + 1) times.idle_ms += ms;
  }

  const cont = () => {
    for (const listener of listeners) listener();
  };

  return {
    mono_ms: () => mono_ms,
    wall_ms: () => read('wall', () => wall_ms) ?? wall_ms,
    boot_ms: () => read('boot', () => boot_ms),
    rtc_ms: () => read('rtc', () => Math.floor((truth_ms + rtcOffset_ms) / 1_000) * 1_000),
    generation: () => read('generation', () => ({ irq24: generation, irq25: generation })),
    timerInterrupts() {
      interruptReads += 1;
      return read('interrupts', () => interrupts);
    },
    cpus: () =>
      read('steal', () =>
        cpus.map(({ busy_ms, idle_ms, stolen_ms }) => {
          const inUnits = (ms: number) => Math.floor(ms / UNIT_MS) * UNIT_MS;
          return { busy_ms: inUnits(busy_ms), idle_ms: inUnits(idle_ms), stolen_ms: inUnits(stolen_ms) };
        }),
      ),
    runQueueWait_ms: () => read('run_queue', () => wait_ms),
    ownCpu_ms: () => read('own_cpu', () => ownCpu_ms),
    pauses: () => pauses,
    bootId: () => '6d3d6f0e-7a7c-4a57-9d55-1f6a3c0d3c11',
    onContinued(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    [Symbol.dispose]: () => undefined,
    run,
    restore(away_ms = 14_000) {
      truth_ms += away_ms;
      generation += 1;
      run(234);
    },
    rewind() {
      generation += 1;
      run(253);
    },
    pauseFrozen(ms) {
      truth_ms += ms;
      run(200);
    },
    pauseRunning,
    pauseWaiting(ms) {
      pass(20, CPUS, 0);
      wait_ms += ms + 20;
      pauseRunning(ms);
    },
    guestSleep(ms) {
      truth_ms += ms;
      boot_ms += ms;
      wall_ms += ms;
      run(200);
    },
    load(ms, own = 0.6) {
      pass(ms, CPUS, 0);
      ownCpu_ms += ms * own;
      wait_ms += ms * 0.2;
    },
    catchUp(ms) {
      pass(ms, CPUS, 0);
      wait_ms += ms;
    },
    stop(ms) {
      pass(ms, STOPPED_BUSY, STOPPED_IDLE_HZ);
      cont();
    },
    freeze: (ms, busy = STOPPED_BUSY) => pass(ms, busy, busy < CPUS ? STOPPED_IDLE_HZ : 0),
    countPauses(counts) {
      pauses = counts;
    },
    block(ms) {
      pass(ms, 1, 0);
      ownCpu_ms += ms * 0.97;
    },
    starve(ms, steal = 0.85) {
      pass(ms, QUIET_BUSY * (1 - steal), IDLE_HZ * (1 - steal));
      ownCpu_ms += ms * 0.02;
      const [first] = cpus;
      if (first === undefined) return;
      first.stolen_ms += ms * steal;
      first.idle_ms -= ms * steal;
    },
    crowd(ms) {
      pass(ms, 1, 0);
      wait_ms += ms * 0.9;
    },
    stepWall(ms) {
      wall_ms += ms;
    },
    writeRtc() {
      rtcOffset_ms = wall_ms - truth_ms;
    },
    lose: (source) => missing.add(source),
    find: (source) => missing.delete(source),
    sendContinue: cont,
    delay: (source, ms) => void delays.set(source, ms),
    setCost(ms) {
      cost_ms = ms;
    },
    get interruptReads() {
      return interruptReads;
    },
    get truth_ms() {
      return truth_ms;
    },
  };
}
