// The image that a machine boots from, with its files in the directory of the machine.
import { constants } from 'node:fs';
import { chmod, copyFile, link, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../../core/error-code.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import type { ImageManifest } from '../../../images/image-manifest.ts';
import { listImages } from '../../../images/image-store.ts';
import type { MachineFiles } from './machine-files.ts';

export interface MachineImage extends ImageManifest {
  readonly dir: string;
}

export interface WantedImage {
  /** The image that the configuration of a machine names. */
  readonly named: string | undefined;
  /** The image that the settings of the platform name; when absent, the only one there is, or `default`. */
  readonly usual: string | undefined;
}

/** Throws `invalid_request` for one that the configuration names and that is not there, and `not_configured` with what the operator has to do. */
export async function findImage(imagesDir: string, { named, usual }: WantedImage): Promise<MachineImage> {
  const all = await listImages(imagesDir);
  const wanted = named ?? usual ?? (all.length === 1 ? all[0]?.name : undefined) ?? 'default';
  const found = all.find((each) => each.name === wanted);
  if (found !== undefined && 'manifest' in found) return { ...found.manifest, dir: join(imagesDir, wanted) };
  const there = all.length === 0 ? 'none' : all.map((each) => each.name).join(', ');
  if (found !== undefined) {
    const message = `the image ${wanted} cannot be used: ${found.fault}; make it again with: remora image build ${wanted}`;
    throw new RemoraError('not_configured', message);
  }
  const message = `there is no image ${wanted} on this host; there are: ${there}`;
  if (named !== undefined) throw new RemoraError('invalid_request', `config.image: ${message}`);
  throw new RemoraError('not_configured', `${message}; make one with: remora image build`);
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
