// Ending every process of an instance, and waiting until the process table says so.
import { RemoraError } from '../../../../core/remora-error.ts';
import { isAnyAlive, signalMember, signalMembers } from '../../../../linux/processes/process-family.ts';
import type { ProcessStat } from '../../../../linux/processes/process-table.ts';
import { until } from '../until.ts';
import { type InstanceIdentity, readMembers, readMembersNow } from './machine-members.ts';

/** How long the rest of an instance may take to end after its leader has ended. */
const REST_MS = 1_000;
/** A killed process that is still there after this hangs in the kernel. */
const KILL_DEADLINE_MS = 10_000;

/** Ends what is left of an instance whose leader has ended: SIGTERM, then SIGKILL. Throws `internal` when a process stays. */
export async function endMembers(instance: InstanceIdentity): Promise<void> {
  const members = await readMembers(instance);
  await signalMembers(members, 'SIGTERM');
  await signalMembers(members, 'SIGCONT');
  if (!(await untilNone(instance, REST_MS, members)) && !(await untilNone(instance, KILL_DEADLINE_MS))) {
    const pids = (await readMembers(instance)).map(({ pid }) => pid);
    throw new RemoraError('internal', `processes of the machine do not end: ${pids.join(', ')}`);
  }
  instance.cgroup?.remove();
}

/** `known`: its processes, where they were read just now. */
export async function killMembers(instance: InstanceIdentity, known?: readonly ProcessStat[]): Promise<void> {
  instance.cgroup?.kill();
  await signalMembers(known ?? (await readMembers(instance)), 'SIGKILL');
}

/** The same in one turn of the event loop, for a platform that ends. */
export function killMembersNow(instance: InstanceIdentity): void {
  instance.cgroup?.kill();
  for (const member of readMembersNow(instance)) signalMember(member, 'SIGKILL');
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
  return await until(deadline_ms, async () => {
    // The table of a host with many processes costs milliseconds: it is not read while one of these is known to be there.
    if (known !== undefined && (await isAnyAlive(known))) return false;
    const found = await readMembers(instance);
    empty = found.length === 0 ? empty + 1 : 0;
    if (known !== undefined) known = found;
    else if (empty === 0) await killMembers(instance, found);
    return empty === 2;
  });
}
