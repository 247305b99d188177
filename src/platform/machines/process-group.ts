// Signals to a whole process group, and waiting for what they do.
import { setTimeout as sleep } from 'node:timers/promises';
import { RemoraError } from '../../core/remora-error.ts';
import { readGroup, readProcess } from './process-table.ts';

const POLL_MS = 20;

/** False when the group is gone. */
export function signalGroup(group: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ESRCH') return false;
    throw error;
  }
}

/** Ends every member by force and waits until none is left. Throws `internal` when one stays. */
export async function killGroup(group: number, deadline_ms: number): Promise<void> {
  const gone = await until(deadline_ms, () => {
    signalGroup(group, 'SIGKILL');
    return readGroup(group).length === 0;
  });
  if (!gone) throw new RemoraError('internal', `the process group ${group} does not end`);
}

/** As `killGroup` for groups found in the process table, except our own. */
export async function killFoundGroups(groups: readonly number[], deadline_ms: number): Promise<void> {
  const own = readProcess(process.pid)?.group;
  const others = groups.filter((group) => group > 1 && group !== own);
  await Promise.all(others.map((group) => killGroup(group, deadline_ms)));
}

/** Polls until `condition` holds; false when it did not in time. The first look is at once. */
export async function until(deadline_ms: number, condition: () => boolean): Promise<boolean> {
  const end = performance.now() + deadline_ms;
  for (;;) {
    if (condition()) return true;
    if (performance.now() >= end) return false;
    await sleep(POLL_MS);
  }
}
