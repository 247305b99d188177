// A note in a machine's directory that names the emulator of its last instance. It is written before and after each step, so that the
// next platform finds the emulator whenever this one is killed.
import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readBootId } from '../../../../linux/boot-id.ts';
import { toStorageFull } from '../storage-full.ts';
import { emulatorPlan } from './emulator/emulator-plan.ts';
import { MachineFiles } from './machine-files.ts';

const note = z.object({
  instance_id: z.string(),
  boot_id: z.string(),
  pid: z.int().positive().optional(),
  start_ticks: z.int().nonnegative().optional(),
  /** The user of the emulator; absent where the platform is not root. */
  uid: z.int().positive().optional(),
  /** The digest of the image that the disk of the machine lies on. */
  image_digest: z.string(),
  /** `suspended`: its snapshot was whole. `over`: the instance has ended, and a platform saw it. */
  phase: z.enum(['running', 'suspended', 'over']),
  plan: emulatorPlan,
});
export type MachineNote = z.infer<typeof note>;

/** The directory of the machine exists. */
export function writeNote(dir: string, fields: Omit<MachineNote, 'boot_id'>): void {
  const path = new MachineFiles(dir).note;
  const early = `${path}~`;
  rmSync(early, { force: true });
  writeFileSync(early, JSON.stringify({ ...fields, boot_id: readBootId() ?? '' }), { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
}

/**
 * Writes what was found, where it is not what the note says already. On a full disk the note stays as it is, which leads the next platform
 * to the same.
 */
export function renewNote(dir: string, before: MachineNote, found: Omit<MachineNote, 'boot_id'>): void {
  if (JSON.stringify(note.parse({ ...found, boot_id: readBootId() ?? '' })) === JSON.stringify(before)) return;
  try {
    writeNote(dir, found);
  } catch (error) {
    if (toStorageFull(error) === error) throw error;
  }
}

/** Undefined when there is none that can be read. */
export function readNote(dir: string): MachineNote | undefined {
  try {
    return note.parse(JSON.parse(readFileSync(new MachineFiles(dir).note, 'utf8')));
  } catch {
    return undefined;
  }
}

/** The notes by machine id. `dir` has a directory for each machine. */
export function listNotes(dir: string): ReadonlyMap<string, MachineNote> {
  const notes = new Map<string, MachineNote>();
  for (const id of listDirectories(dir)) {
    const found = readNote(join(dir, id));
    if (found !== undefined) notes.set(id, found);
  }
  return notes;
}

function listDirectories(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
