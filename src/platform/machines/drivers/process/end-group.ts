// Ending every process of a machine, and waiting until the process table says so.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorCode } from '../../../../core/error-code.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import { readGroup, readProcess } from '../../../../linux/processes/process-table.ts';
import { isSameGroup, type ProcessIdentity, signalGroup } from './machine-process.ts';

const POLL_MS = 20;
/** How long the rest of a group may take to end after its leader has ended. */
const REST_MS = 1_000;
/** A killed process that is still there after this hangs in the kernel. */
const KILL_DEADLINE_MS = 10_000;

/** Ends the group of a leader that has ended: SIGTERM, then SIGKILL. Throws `internal` when a process stays. */
export async function endRest(leader: ProcessIdentity): Promise<void> {
  signalGroup(leader, 'SIGTERM');
  signalGroup(leader, 'SIGCONT');
  const isOver = () => !isSameGroup(leader) || readGroup(leader.pid).length === 0;
  if (await until(REST_MS, isOver)) return;
  const isGone = await until(KILL_DEADLINE_MS, () => {
    signalGroup(leader, 'SIGKILL');
    return isOver();
  });
  if (!isGone) throw new RemoraError('internal', `the process group ${leader.pid} does not end`);
}

/** Ends groups that were found by a mark in the environment of a member, except the platform's own. Throws `internal` when a process stays. */
export async function endFoundGroups(groups: readonly number[]): Promise<void> {
  const own = readProcess(process.pid)?.group;
  await Promise.all(groups.filter((group) => group > 1 && group !== own).map(killGroup));
}

async function killGroup(group: number): Promise<void> {
  const members = () => readGroup(group);
  const isGone = await until(KILL_DEADLINE_MS, () => {
    for (const { pid, start_ticks } of members()) signalMember(pid, start_ticks);
    return members().length === 0;
  });
  if (!isGone) throw new RemoraError('internal', `the process group ${group} does not end`);
}

function signalMember(pid: number, start_ticks: number): void {
  if (readProcess(pid)?.start_ticks !== start_ticks) return;
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error;
  }
}

/** Polls until `condition` holds; the first check is at once. False when it did not hold in time. */
export async function until(deadline_ms: number, condition: () => boolean): Promise<boolean> {
  const end = performance.now() + deadline_ms;
  for (;;) {
    if (condition()) return true;
    if (performance.now() >= end) return false;
    await sleep(POLL_MS);
  }
}
