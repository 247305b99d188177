// Finds the instance of a note that an earlier platform process wrote.
import type { Log } from '../../../../core/log.ts';
import { readBootId } from '../../../../linux/boot-id.ts';
import { type Cgroup, findCgroup } from '../../../../linux/processes/cgroup.ts';
import { isAlive, type ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import type { MarkedProcess } from '../../../../linux/processes/process-table.ts';
import type { FoundInstance } from '../machine-driver.ts';
import { followProcess } from '../machine-process.ts';
import { countPause } from './count-pause.ts';
import { endMembers } from './end-members.ts';
import { thawMembers } from './freeze-members.ts';
import type { Instances } from './instances.ts';
import { areStopped, selectMembers } from './machine-members.ts';
import { type ProcessNote, writeProcessNote } from './process-note.ts';

export interface Finding {
  readonly dir: string;
  /** Gets the instance when it still is there. */
  readonly instances: Pick<Instances, 'begin'>;
  /** The processes of the whole host. */
  readonly table: readonly MarkedProcess[];
  /** Aborted at the end: found processes are no longer polled. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'error'>;
}

/** Takes over an instance that runs or is frozen; of one that has ended, ends the processes that are left. */
export async function findInstance(id: string, note: ProcessNote, finding: Finding): Promise<FoundInstance> {
  const { dir, instances, table, signal } = finding;
  const { instance_id, frozen } = note;
  const boot = readBootId();
  if (boot === undefined || note.boot_id !== boot) return { id, instance_id, state: 'lost' };
  const leader = toLeader(note, table);
  const cgroup = toCgroup(note);
  if (leader === undefined || !isAlive(leader)) {
    await endMembers({ instance_id, leader, cgroup });
    return { id, instance_id, state: 'over' };
  }
  // A platform that was killed while it froze the machine may have left the group held.
  cgroup?.hold(false);
  // One that has no pid yet was stopped for the move into its group.
  const isHeld = note.isHeld === true || note.pid === undefined;
  if (note.isHeld === true) countPause(dir, id, 'copies', finding.log);
  if (isHeld) await thawMembers({ instance_id, leader, cgroup });
  const isStopped = !isHeld && areStopped(selectMembers({ instance_id, leader, cgroup }, table));
  const state = isStopped ? 'suspended' : 'running';
  writeProcessNote(dir, id, { instance_id, ...leader, cgroup: cgroup?.path, frozen: isStopped ? frozen : undefined });
  instances.begin(id, { instance_id, leader: followProcess(leader, signal), cgroup, state });
  return { id, instance_id, state };
}

/** The name of the control group of an instance. */
export function toCgroupName(instance_id: string): string {
  return `remora-${instance_id}`;
}

/** A note without a pid means that the platform was killed during the spawn: the leader is then the first marked process that leads a group. */
function toLeader(note: ProcessNote, table: readonly MarkedProcess[]): ProcessIdentity | undefined {
  const { pid, start_ticks, instance_id } = note;
  if (pid !== undefined && start_ticks !== undefined) return { pid, start_ticks };
  const leaders = table.filter((each) => each.mark === instance_id && each.pid === each.group);
  const first = leaders.toSorted((a, b) => a.start_ticks - b.start_ticks || a.pid - b.pid)[0];
  return first === undefined ? undefined : { pid: first.pid, start_ticks: first.start_ticks };
}

function toCgroup({ cgroup, instance_id }: ProcessNote): Cgroup | undefined {
  return cgroup === undefined ? undefined : findCgroup(cgroup, toCgroupName(instance_id));
}
