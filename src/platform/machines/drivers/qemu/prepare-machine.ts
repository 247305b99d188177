// Makes the files that an emulator works on, for a boot: its disk, its memory and its credentials. Those that it may write are its user's.
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Secret } from '../../../../core/secret.ts';
import { MACHINE_LOG } from '../last-lines.ts';
import { capLog } from './cap-log.ts';
import { linkImage, type MachineImage } from './image.ts';
import type { MachineFiles } from './machine-files.ts';
import { runTool } from './run-tool.ts';

export interface MemoryFile {
  readonly files: MachineFiles;
  readonly uid: number | undefined;
  readonly memory_mb: number;
}

/** The user of the emulator may enter it, and change nothing of what is in it. */
const DIRECTORY_MODE = 0o710;

export async function prepareDirectory(files: MachineFiles, uid: number | undefined): Promise<void> {
  await mkdir(files.dir, { recursive: true, mode: DIRECTORY_MODE });
  await give(files.dir, uid, DIRECTORY_MODE, 0);
  const log = join(files.dir, MACHINE_LOG);
  await capLog(log, 0);
  if (!existsSync(log)) await writeFile(log, '', { flag: 'wx' });
  await give(log, uid, 0o600);
}

/** Makes the machine an empty disk over the image. What it wrote before is gone. */
export async function makeDisk(files: MachineFiles, image: MachineImage, uid: number | undefined): Promise<void> {
  await rm(files.disk, { force: true });
  await linkImage(image, files);
  await runTool(
    'qemu-img',
    ['create', '-q', '-f', 'qcow2', '-F', 'qcow2', '-b', 'base.qcow2', 'disk.qcow2'],
    files.dir,
  );
  await give(files.disk, uid, 0o600);
}

/** Takes the room of the whole memory on the disk now: a machine that finds none later would be killed. Throws `storage_full`. */
export async function makeMemory({ files, uid, memory_mb }: MemoryFile): Promise<void> {
  await rm(files.memory, { force: true });
  await rm(files.state, { force: true });
  await runTool('fallocate', ['-l', `${memory_mb}M`, 'memory'], files.dir);
  await give(files.memory, uid, 0o600);
}

/** `credentials`: by name. The emulator reads them once, when it starts. */
export async function writeCredentials(
  files: MachineFiles,
  uid: number | undefined,
  credentials: ReadonlyMap<string, Secret>,
): Promise<void> {
  await rm(files.credentials, { recursive: true, force: true });
  await mkdir(files.credentials, { mode: DIRECTORY_MODE });
  await give(files.credentials, uid, DIRECTORY_MODE, 0);
  for (const [name, secret] of credentials) {
    const path = join(files.credentials, name);
    await writeFile(path, secret.reveal(), { flag: 'wx', mode: 0o600 });
    await give(path, uid, 0o600);
  }
}

/** `owner`: its owner where that is not the user of the emulator, whose group it has then. */
async function give(path: string, uid: number | undefined, mode: number, owner = uid): Promise<void> {
  await chmod(path, mode);
  if (uid === undefined || owner === undefined) return;
  await chown(path, owner, uid);
}

/** Whether there is a disk, and the image that it lies on. */
export function hasDisk(files: MachineFiles): boolean {
  return existsSync(files.disk) && existsSync(files.base);
}
