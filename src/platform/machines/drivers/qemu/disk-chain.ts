// The disks of a machine that lie on each other: the image, the frozen disks of its checkpoints, and the one that it writes to. A frozen
// disk is never written.
//
//   make a new disk ──▶ name the old one ──▶ the emulator changes over ──▶ put the new one in place
import { existsSync } from 'node:fs';
import { chmod, chown, link, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { z } from 'zod';
import { syncDirectory } from '../durable-json.ts';
import { diskOf, recordOf } from './checkpoint-records.ts';
import type { MachineFiles } from './machine-files.ts';
import type { QmpClient } from './qmp/qmp-client.ts';
import { runTool } from './run-tool.ts';

const info = z.object({ 'virtual-size': z.number(), 'backing-filename': z.string().optional() });
const NEXT = 'next.qcow2';
const FROZEN = /^v\d{1,15}\.qcow2$/;
const blocks = z.array(z.object({ device: z.string(), inserted: z.object({ file: z.string() }).optional() }));

export interface DiskPlace {
  readonly files: MachineFiles;
  readonly uid: number | undefined;
}

/** Freezes the disk of a machine as checkpoint `id`. `qmp`: of its emulator, in which the machine stands still; undefined when none runs. */
export async function freezeDisk({ files, uid }: DiskPlace, id: string, qmp: QmpClient | undefined): Promise<void> {
  await makeOverlay({ files, uid }, 'disk.qcow2', NEXT, `${id}.qcow2`);
  await link(files.disk, diskOf(files, id));
  await syncDirectory(files.dir);
  if (qmp !== undefined) {
    const snapshot = { device: 'root', 'snapshot-file': NEXT, format: 'qcow2', mode: 'existing' };
    await qmp.execute('blockdev-snapshot-sync', snapshot);
  }
  await finishFreeze(files, qmp);
}

/**
 * Finishes or undoes what a platform that ended has left. The new disk lies on all that the machine wrote, so that it may always take
 * its place, unless an emulator still writes to the old one. Resolves with whether the disk is another file now.
 */
export async function finishFreeze(files: MachineFiles, qmp?: QmpClient): Promise<boolean> {
  const next = join(files.dir, NEXT);
  if (!existsSync(next)) return false;
  const frozen = await readBacking(files, NEXT);
  if (
    frozen === undefined ||
    !existsSync(join(files.dir, frozen)) ||
    (qmp !== undefined && !(await writesTo(qmp, NEXT)))
  ) {
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

/** The checkpoint that the disk lies on; undefined when that is the image, and for a machine without a disk. */
export async function readCurrent(files: MachineFiles): Promise<string | undefined> {
  if (!existsSync(files.disk)) return undefined;
  const backing = await readBacking(files, basename(files.disk));
  return backing !== undefined && FROZEN.test(backing) ? backing.replace('.qcow2', '') : undefined;
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

async function writesTo(qmp: QmpClient, name: string): Promise<boolean> {
  const found = blocks.parse(await qmp.execute('query-block'));
  return found.find(({ device }) => device === 'root')?.inserted?.file === name;
}
