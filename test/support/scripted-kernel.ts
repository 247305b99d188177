// A kernel made of numbers, which can show every combination of clocks and counters that a suspend, pause or restore leaves.
// Nothing moves unless a method is called; `run` lets ordinary time pass.
import type { Kernel } from '../../src/linux/kernel/kernel.ts';

export interface ScriptedKernelOptions {
  /** Sources this machine does not have. */
  readonly without?: readonly ('generation' | 'rtc' | 'boot' | 'interrupts' | 'steal' | 'run_queue')[];
  /** What the hardware clock keeps instead of UTC. */
  readonly rtcZone_ms?: number;
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
  guestSleep(ms: number): void;
  /** Ordinary time on a machine whose CPUs are busy, with this share of one in our own loop. */
  load(ms: number, own?: number): void;
  /** Only our process stands still; `continued` is told when it goes on. */
  stop(ms: number): void;
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
const QUIET_HZ = 40;
const BUSY_HZ = 250;
const LOADED_HZ = 500;
/** Measured: 149 timer interrupts in 12 s in which our process was stopped, 22 in 12 s in which the VM was. */
const STOPPED_HZ = 149 / 12;
const PAUSED_INTERRUPTS = 22;

export function createScriptedKernel(options: ScriptedKernelOptions = {}): ScriptedKernel {
  const missing = new Set<string>(options.without ?? []);
  const listeners = new Set<() => void>();
  let truth_ms = START_WALL_MS;
  let mono_ms = 100_000;
  let boot_ms = 100_000;
  let wall_ms = START_WALL_MS;
  let rtcOffset_ms = options.rtcZone_ms ?? 0;
  let interrupts = 50_000;
  let generation = 1;
  let ownCpu_ms = 2_000;
  let wait_ms = 10;
  const steal_ms = [5, 7];
  const delays = new Map<SlowSource, number>();
  let cost_ms = 0;
  let interruptReads = 0;

  /** The value is that of the moment before the time passes: what a reader gets late. */
  function read<T>(source: SlowSource, value: () => T): T | undefined {
    const got = missing.has(source) ? undefined : value();
    const delay_ms = (delays.get(source) ?? 0) + (source === 'interrupts' ? cost_ms : 0);
    delays.delete(source);
    if (delay_ms > 0) pass(delay_ms, QUIET_HZ);
    return got;
  }

  function pass(ms: number, hz: number): void {
    truth_ms += ms;
    mono_ms += ms;
    boot_ms += ms;
    wall_ms += ms;
    interrupts += Math.round((hz * ms) / 1_000);
  }

  function run(ms: number): void {
    pass(ms, QUIET_HZ);
    ownCpu_ms += ms * 0.005;
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
    steal_ms: () => read('steal', () => [...steal_ms]),
    runQueueWait_ms: () => read('run_queue', () => wait_ms),
    ownCpu_ms: () => read('own_cpu', () => ownCpu_ms),
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
    pauseRunning(ms) {
      pass(ms, 0);
      interrupts += PAUSED_INTERRUPTS;
    },
    guestSleep(ms) {
      truth_ms += ms;
      boot_ms += ms;
      wall_ms += ms;
      run(200);
    },
    load(ms, own = 0.6) {
      pass(ms, LOADED_HZ);
      ownCpu_ms += ms * own;
      wait_ms += ms * 0.2;
    },
    stop(ms) {
      pass(ms, STOPPED_HZ);
      cont();
    },
    block(ms) {
      pass(ms, BUSY_HZ);
      ownCpu_ms += ms * 0.97;
    },
    starve(ms, steal = 0.85) {
      pass(ms, QUIET_HZ * (1 - steal));
      ownCpu_ms += ms * 0.02;
      steal_ms[0] = (steal_ms[0] ?? 0) + ms * steal;
    },
    crowd(ms) {
      pass(ms, BUSY_HZ);
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
