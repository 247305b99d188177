// Ending every process of an instance, and waiting until the process table says so.
import { RemoraError } from '../../../../core/remora-error.ts';
import { signalMembers } from '../../../../linux/processes/process-family.ts';
import { isAlive } from '../../../../linux/processes/process-identity.ts';
import type { ProcessStat } from '../../../../linux/processes/process-table.ts';
import { until } from '../until.ts';
import { type InstanceIdentity, readMembers } from './machine-members.ts';

/** How long the rest of an instance may take to end after its leader has ended. */
const REST_MS = 1_000;
/** A killed process that is still there after this hangs in the kernel. */
const KILL_DEADLINE_MS = 10_000;

/** Ends what is left of an instance whose leader has ended: SIGTERM, then SIGKILL. Throws `internal` when a process stays. */
export async function endMembers(instance: InstanceIdentity): Promise<void> {
  const members = readMembers(instance);
  signalMembers(members, 'SIGTERM');
  signalMembers(members, 'SIGCONT');
  if (!(await untilNone(instance, REST_MS, members)) && !(await untilNone(instance, KILL_DEADLINE_MS))) {
    const pids = readMembers(instance).map(({ pid }) => pid);
    throw new RemoraError('internal', `processes of the machine do not end: ${pids.join(', ')}`);
  }
  instance.cgroup?.remove();
}

export function killMembers(instance: InstanceIdentity, members = readMembers(instance)): void {
  instance.cgroup?.kill();
  signalMembers(members, 'SIGKILL');
}

/**
 * Whether two readings in a row found no process: one that is just changing its program shows no environment. `left`: those found before, which have
 * been asked to end; without it all are killed.
 */
async function untilNone(
  instance: InstanceIdentity,
  deadline_ms: number,
  left?: readonly ProcessStat[],
): Promise<boolean> {
  let known = left;
  let empty = 0;
  return await until(deadline_ms, () => {
    // The table of a host with many processes costs milliseconds: it is not read while one of these is known to be there.
    if (known?.some(isAlive)) return false;
    const found = readMembers(instance);
    empty = found.length === 0 ? empty + 1 : 0;
    if (known !== undefined) known = found;
    else if (empty === 0) killMembers(instance, found);
    return empty === 2;
  });
}
