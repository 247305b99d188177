// Freezing every process of an instance, and letting all of them go on.
import { signalMembers } from '../../../../linux/processes/process-family.ts';
import type { ProcessStat } from '../../../../linux/processes/process-table.ts';
import { until } from '../until.ts';
import { areStopped, type InstanceIdentity, readMembers } from './machine-members.ts';

/** How long the kernel may take to hold a control group still before the processes are stopped one by one all the same. */
const HOLD_MS = 500;

/**
 * Resolves with whether every process is stopped, two readings in a row: a process that was started meanwhile is found by the next one,
 * and one that is just changing its program shows no environment.
 */
export async function freezeMembers(instance: InstanceIdentity, deadline_ms: number): Promise<boolean> {
  await stopInCgroup(instance);
  let before = '';
  return await until(deadline_ms, async () => {
    const members = await readMembers(instance);
    const now = areStopped(members) ? toText(members) : '';
    if (now === '') await signalMembers(members, 'SIGSTOP');
    const isSteady = now !== '' && now === before;
    before = now;
    return isSteady;
  });
}

export async function thawMembers(instance: InstanceIdentity): Promise<void> {
  instance.cgroup?.hold(false);
  await signalMembers(await readMembers(instance), 'SIGCONT');
}

/** While the kernel holds all of them, none can start another: the signal is the first thing that each gets when it goes on. */
async function stopInCgroup(instance: InstanceIdentity): Promise<void> {
  const { cgroup } = instance;
  if (cgroup === undefined) return;
  try {
    cgroup.hold(true);
    await until(HOLD_MS, cgroup.isHeld);
    await signalMembers(await readMembers(instance), 'SIGSTOP');
  } finally {
    cgroup.hold(false);
  }
}

function toText(members: readonly ProcessStat[]): string {
  return members.map(({ pid, start_ticks }) => `${pid} ${start_ticks}`).join();
}
