// A note in a machine's directory that names the process of its last instance. It is written before and after the spawn, so that the
// next platform finds the process whenever this one is killed. The note of an instance stays until the next boot and shows that it began.
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readBootId } from '../../../../linux/boot-id.ts';

/** The environment variable that marks every process of a machine with the id of its instance. */
export const INSTANCE_VARIABLE = 'FLY_MACHINE_VERSION';

const note = z.object({
  instance_id: z.string(),
  boot_id: z.string(),
  pid: z.int().positive().optional(),
  start_ticks: z.int().nonnegative().optional(),
  /** The path of its control group. */
  cgroup: z.string().optional(),
  /** It was held still for a copy of its files. */
  isHeld: z.boolean().optional(),
  /** The pid and the start time of each process, when the instance was frozen. */
  frozen: z
    .array(z.tuple([z.int(), z.int()]).readonly())
    .readonly()
    .optional(),
});
export type ProcessNote = z.infer<typeof note>;

export interface NewProcessNote {
  readonly instance_id: string;
  readonly pid?: number;
  readonly start_ticks?: number;
  readonly cgroup?: string | undefined;
  readonly isHeld?: boolean;
  readonly frozen?: ProcessNote['frozen'];
}

const NOTE = 'process.json';

/** The directory of the machine exists. */
export function writeProcessNote(dir: string, id: string, fields: NewProcessNote): void {
  const path = join(dir, id, NOTE);
  const early = `${path}~`;
  // Not opened when it is there: it may be a link.
  rmSync(early, { force: true });
  writeFileSync(early, JSON.stringify({ ...fields, boot_id: readBootId() ?? '' }), { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
}

/** The notes by machine id. A note that cannot be read is left out. */
export function listProcessNotes(dir: string): ReadonlyMap<string, ProcessNote> {
  const notes = new Map<string, ProcessNote>();
  if (!existsSync(dir)) return notes;
  for (const id of readdirSync(dir)) {
    const found = readNote(dir, id);
    if (found !== undefined) notes.set(id, found);
  }
  return notes;
}

/** Undefined when there is no note that can be read. */
export function readNote(dir: string, id: string): ProcessNote | undefined {
  try {
    return note.parse(JSON.parse(readFileSync(join(dir, id, NOTE), 'utf8')));
  } catch {
    return undefined;
  }
}
