// Ending every process of an instance, and waiting until the process table says so.
import { RemoraError } from '../../../../core/remora-error.ts';
import { signalMembers } from '../../../../linux/processes/process-family.ts';
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
  if (!(await untilNone(instance, REST_MS)) && !(await untilNone(instance, KILL_DEADLINE_MS, killMembers))) {
    const pids = readMembers(instance).map(({ pid }) => pid);
    throw new RemoraError('internal', `processes of the machine do not end: ${pids.join(', ')}`);
  }
  instance.cgroup?.remove();
}

export function killMembers(instance: InstanceIdentity): void {
  instance.cgroup?.kill();
  signalMembers(readMembers(instance), 'SIGKILL');
}

/** Whether two readings in a row found no process: one that is just changing its program shows no environment. */
async function untilNone(
  instance: InstanceIdentity,
  deadline_ms: number,
  onFound?: (instance: InstanceIdentity) => void,
): Promise<boolean> {
  let empty = 0;
  return await until(deadline_ms, () => {
    empty = readMembers(instance).length === 0 ? empty + 1 : 0;
    if (empty === 0) onFound?.(instance);
    return empty === 2;
  });
}
