// Which processes belong to an instance of a machine: those in its control group, those that carry its id in their environment, the
// group of its first process, and what any of these have started or share a group with.
import type { Cgroup } from '../../../../linux/processes/cgroup.ts';
import {
  type MarkedProcess,
  type ProcessStat,
  readMarkedProcesses,
  readProcess,
} from '../../../../linux/processes/process-table.ts';
import type { ProcessIdentity } from './machine-process.ts';
import { INSTANCE_VARIABLE } from './process-note.ts';
import { signalProcess } from './signal-process.ts';

export interface InstanceIdentity {
  readonly instance_id: string;
  /** Undefined when nobody knows which one it was. */
  readonly leader: ProcessIdentity | undefined;
  /** Undefined where the instance has no control group of its own. */
  readonly cgroup: Cgroup | undefined;
}

/** Reads the processes of the whole host, with the id of the instance that each was started in. */
export function readTable(): readonly MarkedProcess[] {
  return readMarkedProcesses(INSTANCE_VARIABLE);
}

/** Every process of the instance that has not ended, except this one and what shares a group with it. */
export function readMembers(instance: InstanceIdentity, table = readTable()): readonly ProcessStat[] {
  const own = table.find(({ pid }) => pid === process.pid)?.group;
  const others = table.filter(({ group }) => group !== own);
  return selectMembers(others, instance, new Set(instance.cgroup?.pids()));
}

/** `inside`: the pids in the control group of the instance. */
export function selectMembers(
  table: readonly MarkedProcess[],
  { instance_id, leader }: Pick<InstanceIdentity, 'instance_id' | 'leader'>,
  inside: ReadonlySet<number>,
): readonly ProcessStat[] {
  const group = leader !== undefined && isSameGroup(table, leader) ? leader.pid : undefined;
  let members = table.filter((each) => each.mark === instance_id || inside.has(each.pid) || each.group === group);
  for (;;) {
    const pids = new Set(members.map((member) => member.pid));
    const groups = new Set(members.map((member) => member.group).filter(isOfOne));
    const wider = table.filter((each) => pids.has(each.pid) || pids.has(each.parent) || groups.has(each.group));
    if (wider.length === members.length) return members;
    members = wider;
  }
}

/** Every process that came from another pid namespace is shown in the group 0. */
function isOfOne(group: number): boolean {
  return group > 1;
}

/**
 * Whether the process group of that id is still the one that the process led. A group keeps the id of its leader while it has a
 * member. When a process of that pid has another start time, the pid was reused and the group is another one.
 */
function isSameGroup(table: readonly ProcessStat[], { pid, start_ticks }: ProcessIdentity): boolean {
  const leader = table.find((each) => each.pid === pid);
  if (leader !== undefined) return leader.start_ticks === start_ticks;
  return table.some((each) => each.group === pid && each.start_ticks >= start_ticks);
}

/** Whether there are processes and none of them can run on. A parent that waits in the kernel for a stopped child to begin cannot. */
export function areStopped(members: readonly ProcessStat[]): boolean {
  const stopped = members.filter(({ state }) => state === 'T' || state === 't');
  const waiting = members.filter(({ state, pid }) => state === 'D' && stopped.some((child) => child.parent === pid));
  return members.length > 0 && stopped.length + waiting.length === members.length;
}

/** Signals each process that is still the one that was read. */
export function signalMembers(members: readonly ProcessStat[], signal: NodeJS.Signals): void {
  for (const { pid, start_ticks } of members) {
    if (readProcess(pid)?.start_ticks === start_ticks) signalProcess(pid, signal);
  }
}
