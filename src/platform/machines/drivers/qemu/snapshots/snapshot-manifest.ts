// The description of a snapshot. A snapshot counts once its description is on the disk, after everything that it describes.

import { readFile, rm } from 'node:fs/promises';
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import { errorCode } from '../../../../../core/error-code.ts';
import { syncDirectory, writeDurably } from '../../durable-json.ts';
import { emulatorPlan } from '../emulator/emulator-plan.ts';
import type { MachineFiles } from '../machine-files.ts';

const sum = z.int().nonnegative();

const fields = z.object({
  machine: z.string(),
  instance_id: z.string(),
  /** The versions of what wrote it: another one may not understand it. */
  emulator: z.string(),
  driver: z.int(),
  image_digest: z.string(),
  plan: emulatorPlan,
  memory: z.object({ size_bytes: z.int().nonnegative(), sums: z.array(sum) }),
  state: z.object({ size_bytes: z.int().nonnegative(), sums: z.array(sum) }),
  /** The disks as they were: one that was written since does not fit the memory. Times in nanoseconds, as text. */
  disks: z.array(z.object({ file: z.string(), size_bytes: z.int().nonnegative(), mtime_ns: z.string() })),
  created_ms: z.number(),
});
export type SnapshotManifest = z.infer<typeof fields>;

const written = z.object({ snapshot: fields, sum });

export async function writeSnapshotManifest(files: MachineFiles, manifest: SnapshotManifest): Promise<void> {
  await writeDurably(files.manifest, JSON.stringify({ snapshot: manifest, sum: sumOf(manifest) }));
}

/** Undefined when there is none, `damaged` when it is not what was written. */
export async function readSnapshotManifest(files: MachineFiles): Promise<SnapshotManifest | 'damaged' | undefined> {
  try {
    const { snapshot, sum: stored } = written.parse(JSON.parse(await readFile(files.manifest, 'utf8')));
    return sumOf(snapshot) === stored ? snapshot : 'damaged';
  } catch (error) {
    return errorCode(error) === 'ENOENT' ? undefined : 'damaged';
  }
}

/** Resolves when no crash can bring it back. */
export async function removeSnapshotManifest(files: MachineFiles): Promise<void> {
  await rm(files.manifest, { force: true });
  await syncDirectory(files.dir);
}

/** The order of the fields is that of the shape, also after a reading. */
function sumOf(manifest: SnapshotManifest): number {
  return crc32(JSON.stringify(fields.parse(manifest)));
}
