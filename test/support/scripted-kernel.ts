// A machine made of numbers, which can play every row of the table of measurements in resume.md, section 1. Nothing moves unless
// a method is called; `run` lets ordinary time pass.
import type { Kernel } from '../../src/agent/resume/kernel.ts';

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
  /** What a well-kept clock elsewhere shows. */
  readonly truth_ms: number;
}

export const START_WALL_MS = Date.UTC(2026, 0, 15, 12, 0, 0, 0);
const QUIET_HZ = 40;
const BUSY_HZ = 250;
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
  const has = <T>(source: string, value: () => T): T | undefined => (missing.has(source) ? undefined : value());

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
    wall_ms: () => wall_ms,
    boot_ms: () => has('boot', () => boot_ms),
    rtc_ms: () => has('rtc', () => Math.floor((truth_ms + rtcOffset_ms) / 1_000) * 1_000),
    generation: () => has('generation', () => ({ irq24: generation, irq25: generation })),
    timerInterrupts: () => has('interrupts', () => interrupts),
    steal_ms: () => has('steal', () => [...steal_ms]),
    runQueueWait_ms: () => has('run_queue', () => wait_ms),
    ownCpu_ms: () => ownCpu_ms,
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
    get truth_ms() {
      return truth_ms;
    },
  };
}
