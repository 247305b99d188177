// What the resume detector reads of the machine. Every method is cheap, synchronous and never throws. A figure that the machine
// does not have, or that cannot be read just now, is undefined.

import type { PauseCounts } from './pause-counts.ts';

/** Interrupts counted by each line that fires when the VM gets a new generation, by name of the line. */
export type GenerationCounts = Readonly<Record<string, number>>;

/** Where the kernel counts the time of a busy CPU by timer interrupts, as most do, time without any is in none of the figures. */
export interface CpuTimes {
  readonly busy_ms: number;
  readonly idle_ms: number;
  /** Time that the hypervisor gave to others. */
  readonly stolen_ms: number;
}

export interface ResumeSources {
  /** CLOCK_MONOTONIC: runs on while this process is stopped, stands still while the guest sleeps. */
  mono_ms(): number;
  /** Unix time. */
  wall_ms(): number;
  /** CLOCK_BOOTTIME: like CLOCK_MONOTONIC, but runs on while the guest sleeps. */
  boot_ms(): number | undefined;
  /** The hardware clock as Unix time, to the second. May be in a local time zone. */
  rtc_ms(): number | undefined;
  generation(): GenerationCounts | undefined;
  /** Local timer interrupts of all CPUs since the boot. */
  timerInterrupts(): number | undefined;
  /** What each CPU did since the boot. */
  cpus(): readonly CpuTimes[] | undefined;
  /** Time for which this thread was ready to run and had no CPU. */
  runQueueWait_ms(): number | undefined;
  /** CPU time of this thread. */
  ownCpu_ms(): number | undefined;
  /** What the host counts of the pauses of this machine. */
  pauses(): PauseCounts | undefined;
}
