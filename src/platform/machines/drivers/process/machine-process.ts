// The first process of one instance of a machine, started or found by this platform: waits for its end, and signals it and no other
// process.
import { setTimeout as sleep } from 'node:timers/promises';
import { isOver, readProcess } from '../../../../linux/processes/process-table.ts';
import type { InstanceEnd } from '../machine-driver.ts';
import { signalProcess } from './signal-process.ts';

/** A pid is reused; together with the start time it names one process. */
export interface ProcessIdentity {
  /** The process id, which is also the id of its process group. */
  readonly pid: number;
  readonly start_ticks: number;
}

export interface MachineProcess extends ProcessIdentity {
  /** Resolves when the leader has ended. Both fields are null for a process that was found: only a parent gets the exit code. */
  readonly ended: Promise<InstanceEnd>;
}

/** How often a found process is polled; less often when there are many, so that all together cost at most a thousand polls a second. */
const LOOK_MS = 250;
let followed = 0;

/** Polls a process that is not a child of this one until it has ended or `signal` is aborted; after an abort `ended` never resolves. */
export function followProcess(identity: ProcessIdentity, signal: AbortSignal): MachineProcess {
  const { promise, resolve } = Promise.withResolvers<InstanceEnd>();
  async function follow(): Promise<void> {
    followed += 1;
    try {
      while (isAlive(identity)) await sleep(Math.max(LOOK_MS, followed), undefined, { ref: false, signal });
      resolve({ exit_code: null, signal: null });
    } finally {
      followed -= 1;
    }
  }
  follow().catch(() => undefined);
  return { ...identity, ended: promise };
}

export function isAlive({ pid, start_ticks }: ProcessIdentity): boolean {
  const found = readProcess(pid);
  return found !== undefined && found.start_ticks === start_ticks && !isOver(found);
}

/** Signals the leader alone. Does nothing when it has ended. */
export function signalLeader(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(identity)) signalProcess(identity.pid, signal);
}
