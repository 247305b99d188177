// The images that machines boot from, in the platform's directory: a kernel, an initial ramdisk and a disk, with a description.
import { constants } from 'node:fs';
import { copyFile, link, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../../../core/error-code.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import type { MachineFiles } from './machine-files.ts';

const manifest = z.object({
  name: z.string(),
  digest: z.string(),
  kernel_version: z.string(),
  boot: z.object({ append: z.string(), cpu: z.string() }),
  /** Without an agent in it no start would ever be over. */
  agent: z.literal(true),
});
export type ImageManifest = z.infer<typeof manifest>;

export interface MachineImage extends ImageManifest {
  readonly dir: string;
}

const HOW = 'make one with: remora image build';

/** Undefined `name`: the only one there is, or `default`. Throws `not_configured` with what to do when there is no such image, or none that can be read. */
export async function findImage(imagesDir: string, name: string | undefined): Promise<MachineImage> {
  const names = await listImages(imagesDir);
  const wanted = name ?? (names.length === 1 ? names[0] : 'default');
  if (wanted === undefined || !names.includes(wanted)) {
    const there = names.length === 0 ? `${imagesDir} has none` : `there are ${names.join(', ')}`;
    throw new RemoraError('not_configured', `there is no image ${wanted}: ${there}; ${HOW}`);
  }
  const dir = join(imagesDir, wanted);
  try {
    const found = manifest.parse(JSON.parse(await readFile(join(dir, 'manifest.json'), 'utf8')));
    for (const file of ['kernel', 'initrd', 'base.qcow2']) await stat(join(dir, file));
    return { ...found, dir };
  } catch (cause) {
    const message = `the image ${wanted} in ${imagesDir} is not whole, or has no agent; ${HOW}`;
    throw new RemoraError('not_configured', message, { cause });
  }
}

/** Links the files of an image into the directory of a machine: they stay there when the image is deleted or made again. */
export async function linkImage(image: MachineImage, files: MachineFiles): Promise<void> {
  await linkFile(join(image.dir, 'kernel'), files.kernel);
  await linkFile(join(image.dir, 'initrd'), files.initrd);
  await linkFile(join(image.dir, 'base.qcow2'), files.base);
}

async function linkFile(from: string, to: string): Promise<void> {
  await rm(to, { force: true });
  try {
    await link(from, to);
  } catch (error) {
    // The images may be on another file system.
    if (errorCode(error) !== 'EXDEV') throw error;
    await copyFile(from, to, constants.COPYFILE_FICLONE);
  }
}

async function listImages(imagesDir: string): Promise<readonly string[]> {
  const entries = await readdir(imagesDir, { withFileTypes: true }).catch(() => []);
  return entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.')).map((entry) => entry.name);
}
