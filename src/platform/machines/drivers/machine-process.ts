// The first process of one instance of a machine, started or found by this platform: waits for its end, and signals it and no other
// process.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '../../../linux/processes/process-identity.ts';
import { signalProcess } from '../../../linux/processes/signal-process.ts';
import type { InstanceEnd } from './machine-driver.ts';

/** The pid is also the id of its process group. */
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

/** Signals the leader alone. Does nothing when it has ended. */
export function signalLeader(identity: ProcessIdentity, signal: NodeJS.Signals): void {
  if (isAlive(identity)) signalProcess(identity.pid, signal);
}
