// A process with everything that it has started: those in its control group, those that carry its mark in their environment, its
// process group, and what any of these have started or share a group with.

import type { Cgroup } from './cgroup.ts';
import { inSlices } from './in-slices.ts';
import { isAlive, type ProcessIdentity } from './process-identity.ts';
import { type MarkedProcess, type ProcessStat, readProcess } from './process-table.ts';
import { signalProcess } from './signal-process.ts';

export interface ProcessFamily {
  /** The value of the variable that marks its processes. */
  readonly mark: string;
  /** The first process, which leads a process group. Undefined when nobody knows which one it was. */
  readonly leader: ProcessIdentity | undefined;
  /** Undefined where it has no control group of its own. */
  readonly cgroup: Cgroup | undefined;
}

/** Every process of the family that has not ended, except this one and what shares a group with it. */
export function readFamily(family: ProcessFamily, table: readonly MarkedProcess[]): readonly ProcessStat[] {
  const own = table.find(({ pid }) => pid === process.pid)?.group;
  const others = table.filter(({ group }) => group !== own);
  return selectFamily(others, family, new Set(family.cgroup?.pids()));
}

/** `inside`: the pids in the control group of the family. */
export function selectFamily(
  table: readonly MarkedProcess[],
  { mark, leader }: Pick<ProcessFamily, 'mark' | 'leader'>,
  inside: ReadonlySet<number>,
): readonly ProcessStat[] {
  const group = leader !== undefined && isSameGroup(table, leader) ? leader.pid : undefined;
  let members = table.filter((each) => each.mark === mark || inside.has(each.pid) || each.group === group);
  for (;;) {
    const pids = new Set(members.map((member) => member.pid));
    const groups = new Set(members.map((member) => member.group).filter(isOfOne));
    const wider = table.filter((each) => pids.has(each.pid) || pids.has(each.parent) || groups.has(each.group));
    if (wider.length === members.length) return members;
    members = wider;
  }
}

/** Signals each process that is still the one that was read, in slices. */
export async function signalMembers(members: readonly ProcessStat[], signal: NodeJS.Signals): Promise<void> {
  await inSlices(members, (member) => signalMember(member, signal));
}

/** Whether one of the processes that were read is still there. Looks in slices. */
export async function isAnyAlive(members: readonly ProcessIdentity[]): Promise<boolean> {
  let isFound = false;
  await inSlices(members, (member) => {
    isFound ||= isAlive(member);
  });
  return isFound;
}

export function signalMember({ pid, start_ticks }: ProcessIdentity, signal: NodeJS.Signals): void {
  if (readProcess(pid)?.start_ticks === start_ticks) signalProcess(pid, signal);
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
