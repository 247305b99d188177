// What the disks of a machine are, as far as a snapshot of its memory has to fit them.
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { EmulatorPlan } from '../emulator/emulator-plan.ts';
import type { MachineFiles } from '../machine-files.ts';
import { readSnapshotManifest, type SnapshotManifest, writeSnapshotManifest } from './snapshot-manifest.ts';

type DiskStamp = SnapshotManifest['disks'][number];

/** Call it for a machine whose emulator writes no more. */
export async function readDiskStamps(files: MachineFiles, plan: EmulatorPlan): Promise<DiskStamp[]> {
  const paths = [files.disk, ...plan.volumes.map(({ file }) => join(files.dir, file))];
  return await Promise.all(paths.map(readStamp));
}

export async function areDisksUnchanged(files: MachineFiles, { plan, disks }: SnapshotManifest): Promise<boolean> {
  const now = await readDiskStamps(files, plan).catch(() => []);
  return JSON.stringify(now) === JSON.stringify(disks);
}

async function readStamp(path: string): Promise<DiskStamp> {
  const { size, mtimeNs } = await stat(path, { bigint: true });
  return { file: path, size_bytes: Number(size), mtime_ns: String(mtimeNs) };
}

/** Call it when the disk of a suspended machine has got another file of the same content. Does nothing for any other machine. */
export async function renewDiskStamps(files: MachineFiles): Promise<void> {
  const manifest = await readSnapshotManifest(files);
  if (manifest === undefined || manifest === 'damaged') return;
  await writeSnapshotManifest(files, { ...manifest, disks: await readDiskStamps(files, manifest.plan) });
}
