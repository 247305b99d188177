// Volumes of this driver: a raw disk with a file system for each, which the machine that mounts it has linked in its directory.
import { existsSync } from 'node:fs';
import { chmod, chown, link, open, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import { makeDirectory } from '../../../../linux/make-directory.ts';
import { syncDirectory } from '../durable-json.ts';
import type { MountedVolume } from '../machine-driver.ts';
import type { MachineVolumes } from '../machine-volumes.ts';
import type { PlannedVolume } from './emulator/emulator-plan.ts';
import { SUPERBLOCK_END, toFileSystemBytes } from './file-system-size.ts';
import type { MachineFiles } from './machine-files.ts';
import { runTool } from './run-tool.ts';

const GB = 1024 ** 3;
const SERIAL_CHARACTERS = 20;

export function createQemuVolumes(dir: string): MachineVolumes {
  const fileOf = (id: string) => join(dir, `${id}.raw`);
  return {
    async make(id, size_gb) {
      makeDirectory(dir, 0o700);
      if (existsSync(fileOf(id))) return;
      const early = `.${id}.raw`;
      await rm(join(dir, early), { force: true });
      await runTool('truncate', ['-s', `${size_gb}G`, early], dir);
      await runTool('mke2fs', ['-q', '-F', '-t', 'ext4', '-m', '0', early], dir);
      await rename(join(dir, early), fileOf(id));
      await syncDirectory(dir);
    },
    async extend(id, size_gb) {
      const { size } = await stat(fileOf(id));
      if (size >= size_gb * GB) return true;
      await runTool('truncate', ['-s', `${size_gb}G`, fileOf(id)], dir);
      // The file system grows at the next boot, before the machine has it mounted.
      return false;
    },
    async remove(id) {
      await rm(fileOf(id), { force: true });
    },
  };
}

/** Links the disk of each volume into the directory of the machine. Throws `invalid_state` for a volume that is gone. */
export async function linkVolumes(
  volumesDir: string,
  files: MachineFiles,
  volumes: readonly MountedVolume[],
  uid: number | undefined,
): Promise<PlannedVolume[]> {
  const planned: PlannedVolume[] = [];
  for (const { id, path } of volumes) {
    const disk = join(volumesDir, `${id}.raw`);
    if (!existsSync(disk)) {
      throw new RemoraError('invalid_state', `the files of the volume ${id} are not on this host`);
    }
    await grow(disk, volumesDir);
    const serial = toSerial(id);
    const file = `volume-${serial}.raw`;
    await rm(join(files.dir, file), { force: true });
    await link(disk, join(files.dir, file));
    await chmod(disk, 0o600);
    if (uid !== undefined) await chown(disk, uid, uid);
    planned.push({ serial, file, path });
  }
  return planned;
}

/** Makes the file system as large as its disk, when the disk has grown. A file system that is not clean is mended first. */
async function grow(disk: string, cwd: string): Promise<void> {
  if (await isAsLarge(disk)) return;
  await runTool(
    'sh',
    ['-c', 'e2fsck -f -p "$1" > /dev/null; [ $? -le 1 ] && resize2fs "$1" 2> /dev/null', 'sh', disk],
    cwd,
  );
}

async function isAsLarge(disk: string): Promise<boolean> {
  await using handle = await open(disk, 'r');
  const start = Buffer.alloc(SUPERBLOCK_END);
  await handle.read(start, 0, start.length, 0);
  return toFileSystemBytes(start) === (await handle.stat({ bigint: true })).size;
}

/** The serial number of a virtual disk has at most 20 characters. */
function toSerial(id: string): string {
  return id.replaceAll(/[^a-z0-9_]/g, '').slice(-SERIAL_CHARACTERS);
}
