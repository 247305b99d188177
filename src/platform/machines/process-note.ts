// A note in a machine's directory of which process it is, written before and after the spawn, so that the next platform finds
// what this one leaves behind when it is killed at any moment.
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { findGroupsByEnvironment, readBootId, readGroup, readProcess } from './process-table.ts';

/** The variable that carries the life's id in the environment of everything that the machine runs. */
export const INSTANCE_VARIABLE = 'FLY_MACHINE_VERSION';

const note = z.object({
  instance_id: z.string(),
  boot_id: z.string(),
  pid: z.int().positive().optional(),
  start_ticks: z.int().nonnegative().optional(),
});
type Note = z.infer<typeof note>;

export interface NewProcessNote {
  readonly instance_id: string;
  readonly pid?: number;
  readonly start_ticks?: number | undefined;
}

export interface Leftover {
  readonly id: string;
  /** Process groups that still run; empty when the machine is gone. */
  readonly groups: readonly number[];
}

const NOTE = 'process.json';

export function writeProcessNote(dir: string, id: string, fields: NewProcessNote): void {
  const path = join(dir, id, NOTE);
  mkdirSync(join(dir, id), { recursive: true, mode: 0o700 });
  writeFileSync(`${path}~`, JSON.stringify({ ...fields, boot_id: readBootId() }), { mode: 0o600 });
  renameSync(`${path}~`, path);
}

export function clearProcessNote(dir: string, id: string): void {
  rmSync(join(dir, id, NOTE), { force: true });
}

/** Every machine with a note, and what of it still runs. A note that cannot be read counts as gone. */
export function findLeftovers(dir: string): readonly Leftover[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .filter((id) => existsSync(join(dir, id, NOTE)))
    .map((id) => ({ id, groups: findGroups(readNote(join(dir, id, NOTE))) }));
}

function readNote(path: string): Note | undefined {
  try {
    return note.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch {
    return undefined;
  }
}

function findGroups(found: Note | undefined): number[] {
  if (found === undefined || found.boot_id !== readBootId()) return [];
  const groups = new Set(findGroupsByEnvironment(`${INSTANCE_VARIABLE}=${found.instance_id}`));
  if (found.pid !== undefined && isSameGroup(found.pid, found.start_ticks ?? Number.POSITIVE_INFINITY)) {
    groups.add(found.pid);
  }
  return [...groups];
}

/** The group has the leader's pid. With another leader of that pid it is somebody else's. */
function isSameGroup(pid: number, start_ticks: number): boolean {
  const leader = readProcess(pid);
  if (leader !== undefined) return leader.start_ticks === start_ticks;
  return readGroup(pid).some((member) => member.start_ticks >= start_ticks);
}
