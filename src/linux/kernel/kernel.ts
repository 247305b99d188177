// The kernel port: everything that the agent reads of the machine to notice a resume, from files that any user may read.
// Nothing here throws; a figure that this machine does not have is undefined.
import { join } from 'node:path';
import type { ResumeSources } from '../../core/resume/resume-sources.ts';
import { readBootId } from '../boot-id.ts';
import { createGenerationCounter } from './generation-counter.ts';
import { createKeptFile } from './kept-file.ts';
import {
  hasCpuLines,
  hasTimerInterrupts,
  parseCpuTimes,
  parseRunQueueWait_ms,
  parseSinceEpoch_ms,
  parseTimerInterrupts,
  parseUptime_ms,
} from './kernel-text.ts';
import { readPauseFile } from './pause-file.ts';

export interface Kernel extends ResumeSources, Disposable {
  /** Changes with every cold boot and never with a resume. */
  bootId(): string | undefined;
  /** Calls back when this process gets SIGCONT, until the returned function is called. */
  onContinued(listener: () => void): () => void;
}

export interface KernelOptions {
  readonly procRoot?: string;
  readonly sysRoot?: string;
  /** Where the host of this machine counts its pauses. */
  readonly pausesFile?: string | undefined;
}

/** Opens each file at its first reading and keeps it open until disposed. */
export function createKernel(options: KernelOptions = {}): Kernel {
  const procRoot = options.procRoot ?? '/proc';
  const sysRoot = options.sysRoot ?? '/sys';
  const { pausesFile } = options;
  const mono_ms = () => performance.now();
  const files = new DisposableStack();
  const open = (path: string) => files.use(createKeptFile(path, mono_ms));
  const generation = files.use(createGenerationCounter(procRoot, sysRoot, mono_ms));
  const uptime = open(join(procRoot, 'uptime'));
  const interrupts = open(join(procRoot, 'interrupts'));
  const stat = open(join(procRoot, 'stat'));
  const schedstat = open(join(procRoot, 'thread-self/schedstat'));
  const rtc = open(join(sysRoot, 'class/rtc/rtc0/since_epoch'));

  function parsed<T>(text: string | undefined, parse: (text: string) => T | undefined): T | undefined {
    return text === undefined ? undefined : parse(text);
  }

  return {
    mono_ms,
    wall_ms: () => Date.now(),
    boot_ms: () => parsed(uptime.read(), parseUptime_ms),
    rtc_ms: () => parsed(rtc.read(), parseSinceEpoch_ms),
    generation: () => generation.read(),
    timerInterrupts: () => parsed(interrupts.read(hasTimerInterrupts), parseTimerInterrupts),
    cpus: () => parsed(stat.read(hasCpuLines), parseCpuTimes),
    runQueueWait_ms: () => parsed(schedstat.read(), parseRunQueueWait_ms),
    ownCpu_ms() {
      const { user, system } = process.threadCpuUsage();
      return (user + system) / 1_000;
    },
    pauses: () => (pausesFile === undefined ? undefined : readPauseFile(pausesFile)),
    bootId: () => readBootId(procRoot),
    onContinued(listener) {
      process.on('SIGCONT', listener);
      return () => process.off('SIGCONT', listener);
    },
    [Symbol.dispose]: () => files.dispose(),
  };
}
