// The images of a platform, a directory each: listed, read, put in place at once, and deleted.
import { readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { IMAGE_FILES, type ImageManifest, imageManifest, imageName, MANIFEST } from './image-manifest.ts';

/** Where a platform keeps its images. */
export function toImagesDir(platformDir: string): string {
  return join(platformDir, 'images');
}

/** An image, or why it is none. */
export type ListedImage = { readonly name: string; readonly size_bytes: number } & (
  | { readonly manifest: ImageManifest }
  | { readonly fault: string }
);

/** The images in the order of their names. What was left half made is not listed. */
export async function listImages(imagesDir: string): Promise<readonly ListedImage[]> {
  const entries = await readdir(imagesDir, { withFileTypes: true }).catch(() => []);
  const names = entries.filter((each) => each.isDirectory() && imageName.safeParse(each.name).success);
  return await Promise.all(names.map(({ name }) => readListed(imagesDir, name)).sort());
}

/** Throws `not_found`, with the names that there are, and `not_configured` for one that is not whole. */
export async function readImage(imagesDir: string, name: string): Promise<ListedImage & { manifest: ImageManifest }> {
  const all = await listImages(imagesDir);
  const found = all.find((each) => each.name === name);
  if (found === undefined) {
    const there = all.length === 0 ? 'none' : all.map((each) => each.name).join(', ');
    throw new RemoraError('not_found', `there is no image ${name} in ${imagesDir}; there are: ${there}`);
  }
  if ('fault' in found) throw new RemoraError('not_configured', `the image ${name} cannot be used: ${found.fault}`);
  return found;
}

/** Puts the directory `early`, on the same file system, in the place of the image of this name. Machines that run keep their files of the old one. */
export async function placeImage(imagesDir: string, name: string, early: string): Promise<void> {
  const place = join(imagesDir, name);
  const old = join(imagesDir, `.${name}~`);
  await rm(old, { recursive: true, force: true });
  await rename(place, old).catch(() => undefined);
  await rename(early, place);
  await rm(old, { recursive: true, force: true });
}

/** Throws `not_found`. Machines made from it keep their files. */
export async function deleteImage(imagesDir: string, name: string): Promise<void> {
  const all = await listImages(imagesDir);
  if (!all.some((each) => each.name === name)) await readImage(imagesDir, name);
  const old = join(imagesDir, `.${name}~`);
  await rm(old, { recursive: true, force: true });
  await rename(join(imagesDir, name), old);
  await rm(old, { recursive: true, force: true });
}

/** A directory for an image that is being made; it is on the file system of the images. */
export function makeEarlyDir(imagesDir: string, name: string): string {
  const early = join(imagesDir, `.${name}-${process.pid}`);
  makeDirectory(early, 0o755);
  return early;
}

/** Throws `invalid_request`. */
export function checkImageName(name: string): void {
  const parsed = imageName.safeParse(name);
  if (parsed.success) return;
  throw new RemoraError('invalid_request', `${name} is no name of an image: ${parsed.error.issues[0]?.message}`);
}

async function readListed(imagesDir: string, name: string): Promise<ListedImage> {
  const dir = join(imagesDir, name);
  let size_bytes = 0;
  try {
    for (const file of IMAGE_FILES) size_bytes += (await stat(join(dir, file))).size;
    const manifest = imageManifest.parse(JSON.parse(await readFile(join(dir, MANIFEST), 'utf8')));
    return { name, size_bytes, manifest };
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    return { name, size_bytes, fault: `it is not whole: ${why}` };
  }
}
