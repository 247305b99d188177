// The processes that a frozen instance had: all of them must still be there when it goes on. One that somebody killed or let go on meanwhile
// is a part of the machine that no longer fits the rest.
import { inSlices } from '../../../../linux/processes/in-slices.ts';
import { isAlive, type ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import { isOver, readProcess } from '../../../../linux/processes/process-table.ts';
import type { Instance } from './instances.ts';
import { readMembers } from './machine-members.ts';
import { readNote, writeProcessNote } from './process-note.ts';

/** Writes into the note of a frozen instance which processes it has. Throws what the file system says. */
export async function noteFrozen(dir: string, id: string, instance: Instance): Promise<void> {
  const { instance_id, leader, cgroup } = instance;
  const frozen = (await readMembers(instance)).filter((member) => !isOver(member));
  writeProcessNote(dir, id, {
    instance_id,
    pid: leader.pid,
    start_ticks: leader.start_ticks,
    cgroup: cgroup?.path,
    frozen: frozen.map(({ pid, start_ticks }) => [pid, start_ticks] as const),
  });
}

/** Whether every process of the frozen instance is still there and frozen. A note without them, which an earlier version wrote, proves nothing against it. */
export async function isWhole(dir: string, id: string, { instance_id, leader }: Instance): Promise<boolean> {
  const note = readNote(dir, id);
  if (note !== undefined && note.instance_id !== instance_id) return false;
  const frozen = (note?.frozen ?? []).map(([pid, start_ticks]) => ({ pid, start_ticks }));
  let isSo = true;
  await inSlices([leader, ...frozen], (identity) => {
    isSo &&= isFrozen(identity);
  });
  return isSo;
}

/** A process that waits in the kernel for a stopped child to begin cannot run on either. */
function isFrozen(identity: ProcessIdentity): boolean {
  const state = readProcess(identity.pid)?.state;
  return isAlive(identity) && (state === 'T' || state === 't' || state === 'D');
}
