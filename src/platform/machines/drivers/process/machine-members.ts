// Which processes belong to an instance of a machine: those of its family, which carry its id in their environment.
import type { Cgroup } from '../../../../linux/processes/cgroup.ts';
import { readFamily } from '../../../../linux/processes/process-family.ts';
import type { ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import {
  type MarkedProcess,
  type ProcessStat,
  readMarkedProcesses,
  readMarkedProcessesNow,
} from '../../../../linux/processes/process-table.ts';
import { INSTANCE_VARIABLE } from './process-note.ts';

export interface InstanceIdentity {
  readonly instance_id: string;
  /** Undefined when nobody knows which one it was. */
  readonly leader: ProcessIdentity | undefined;
  /** Undefined where the instance has no control group of its own. */
  readonly cgroup: Cgroup | undefined;
}

/** Reads the processes of the whole host, with the id of the instance that each was started in. */
export function readTable(): Promise<readonly MarkedProcess[]> {
  return readMarkedProcesses(INSTANCE_VARIABLE);
}

/** Every process of the instance that has not ended, except this one and what shares a group with it. */
export async function readMembers(instance: InstanceIdentity): Promise<readonly ProcessStat[]> {
  return selectMembers(instance, await readTable());
}

/** The same in one turn of the event loop, for a platform that ends. */
export function readMembersNow(instance: InstanceIdentity): readonly ProcessStat[] {
  return selectMembers(instance, readMarkedProcessesNow(INSTANCE_VARIABLE));
}

export function selectMembers(
  { instance_id, leader, cgroup }: InstanceIdentity,
  table: readonly MarkedProcess[],
): readonly ProcessStat[] {
  return readFamily({ mark: instance_id, leader, cgroup }, table);
}

/** Whether there are processes and none of them can run on. A parent that waits in the kernel for a stopped child to begin cannot. */
export function areStopped(members: readonly ProcessStat[]): boolean {
  const stopped = members.filter(({ state }) => state === 'T' || state === 't');
  const waiting = members.filter(({ state, pid }) => state === 'D' && stopped.some((child) => child.parent === pid));
  return members.length > 0 && stopped.length + waiting.length === members.length;
}
