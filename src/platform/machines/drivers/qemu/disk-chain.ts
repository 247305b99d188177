// The disks of a machine that lie on each other: the image, the frozen disks of its checkpoints, and the one that it writes to. A frozen
// disk is never written.
//
//   make a new disk ──▶ name the old one ──▶ put the new one in place
import { existsSync } from 'node:fs';
import { chmod, chown, link, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { syncDirectory } from '../durable-json.ts';
import { diskOf, readCopied, recordOf } from './checkpoint-records.ts';
import type { MachineFiles } from './machine-files.ts';
import { runTool } from './run-tool.ts';

const info = z.object({ 'virtual-size': z.number(), 'backing-filename': z.string().optional() });
const NEXT = 'next.qcow2';
/** A disk over a checkpoint, which is to take the place of the disk. */
export const RESTORED = 'restore.qcow2';
const FROZEN = /^v\d{1,15}\.qcow2$/;

export interface DiskPlace {
  readonly files: MachineFiles;
  readonly uid: number | undefined;
}

/** Freezes the disk of a machine, of which no emulator runs, as checkpoint `id`. */
export async function freezeDisk({ files, uid }: DiskPlace, id: string): Promise<void> {
  await makeOverlay({ files, uid }, 'disk.qcow2', NEXT, `${id}.qcow2`);
  await link(files.disk, diskOf(files, id));
  await syncDirectory(files.dir);
  await finishFreeze(files);
}

/**
 * Finishes or undoes what a platform that ended has left, while no emulator runs. The new disk lies on all that the machine wrote, so that
 * it may take its place. Resolves with whether the disk is another file now.
 */
export async function finishFreeze(files: MachineFiles): Promise<boolean> {
  const next = join(files.dir, NEXT);
  if (!existsSync(next)) return false;
  const frozen = await readBacking(files, NEXT);
  if (frozen === undefined || !existsSync(join(files.dir, frozen))) {
    await rm(next, { force: true });
    if (frozen !== undefined && FROZEN.test(frozen)) await rm(join(files.dir, frozen), { force: true });
    return false;
  }
  await chmod(join(files.dir, frozen), 0o440);
  await rename(next, files.disk);
  await syncDirectory(files.dir);
  return true;
}

/** Makes the disk `name` over a frozen one. */
export async function makeOverlay(
  { files, uid }: DiskPlace,
  sizeOf: string,
  name: string,
  backing: string,
): Promise<void> {
  await rm(join(files.dir, name), { force: true });
  const size = String((await readInfo(files, sizeOf))['virtual-size']);
  const format = ['-q', '-u', '-f', 'qcow2', '-F', 'qcow2', '-b', backing];
  await runTool('qemu-img', ['create', ...format, name, size], files.dir);
  await chmod(join(files.dir, name), 0o600);
  if (uid !== undefined) await chown(join(files.dir, name), uid, uid);
}

/** What the disk of the machine lies on, in the directory of the machine: the image or a frozen disk. Throws `internal` when that cannot be read. */
export async function readBackingOf(files: MachineFiles): Promise<string> {
  return (await readBacking(files, basename(files.disk))) ?? basename(files.base);
}

/** The checkpoint that the files of the machine come from; undefined when that is the image, and for a machine without a disk. */
export async function readCurrent(files: MachineFiles): Promise<string | undefined> {
  if (!existsSync(files.disk)) return undefined;
  const copied = await readCopied(files);
  if (copied !== undefined) return copied;
  const backing = await readBackingOf(files);
  return FROZEN.test(backing) ? backing.replace('.qcow2', '') : undefined;
}

/** Deletes frozen disks without a record on which nothing lies; one on which another lies stays until that is gone. */
export async function removeUnused(files: MachineFiles): Promise<void> {
  for (;;) {
    const disks = (await readdir(files.dir)).filter((name) => name.endsWith('.qcow2'));
    const used = new Set(await Promise.all(disks.map((name) => readBacking(files, name))));
    const unused = disks.filter(
      (name) => FROZEN.test(name) && !used.has(name) && !existsSync(recordOf(files, name.replace('.qcow2', ''))),
    );
    if (unused.length === 0) return;
    for (const name of unused) await rm(join(files.dir, name), { force: true });
  }
}

async function readBacking(files: MachineFiles, name: string): Promise<string | undefined> {
  return (await readInfo(files, name))['backing-filename'];
}

async function readInfo(files: MachineFiles, name: string) {
  return info.parse(JSON.parse(await runTool('qemu-img', ['info', '-U', '--output=json', name], files.dir)));
}
