// The image that a machine boots from, with its files in the directory of the machine.
import { constants } from 'node:fs';
import { chmod, copyFile, link, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../../core/error-code.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import type { ImageManifest } from '../../../images/image-manifest.ts';
import { listImages, readImage } from '../../../images/image-store.ts';
import type { MachineFiles } from './machine-files.ts';

export interface MachineImage extends ImageManifest {
  readonly dir: string;
}

const HOW = 'make one with: remora image build';

/** Undefined `name`: the only one there is, or `default`. Throws `not_configured` with what to do when there is no such image, or none that is whole. */
export async function findImage(imagesDir: string, name: string | undefined): Promise<MachineImage> {
  const all = await listImages(imagesDir);
  const wanted = name ?? (all.length === 1 ? all[0]?.name : undefined) ?? 'default';
  try {
    const { manifest } = await readImage(imagesDir, wanted);
    return { ...manifest, dir: join(imagesDir, wanted) };
  } catch (error) {
    if (!(error instanceof RemoraError)) throw error;
    throw new RemoraError('not_configured', `${error.message}; ${HOW}`, { cause: error });
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
  // The emulator is nobody's group. An image has no secret: those of a machine are its credentials.
  await chmod(to, 0o644);
}
