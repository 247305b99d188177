// Builds an image from Debian's packages and an agent. What was built before of the same parts is taken
// from the cache.
import { constants, existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { RemoraError } from '../../../core/remora-error.ts';
import { makeDirectory } from '../../../linux/make-directory.ts';
import { whyNotOwnDirectory } from '../../../linux/own-directory.ts';
import { openLock } from '../../../sqlite/lock.ts';
import { toPackages } from '../debian-packages.ts';
import { DEFAULT_APPEND, IMAGE_FILES, type ImageManifest, imageManifest, MANIFEST } from '../image-manifest.ts';
import { checkImageName, makeEarlyDir, placeImage } from '../image-store.ts';
import { sumFiles } from '../import-image.ts';
import { sumText } from '../sum-file.ts';
import { makeBaseTree } from './base-tree.ts';
import type { BuildStep } from './build-step.ts';
import { makeGuestTree } from './guest-tree.ts';
import { makeInitialRamdisk } from './initial-ramdisk.ts';
import { fetchKernel, type Kernel } from './kernel.ts';
import { makeRawDisk, toQcow2 } from './make-disk.ts';
import { pruneCache } from './prune-cache.ts';
import { digestTree } from './tree-digest.ts';
import { warmUp } from './warm-up.ts';

export interface BuildOptions {
  readonly imagesDir: string;
  /** Only root may write there: what lies in it becomes part of images. */
  readonly cacheDir: string;
  readonly name: string;
  /** A tree like the one that the package installs as /opt/remora. */
  readonly source: string;
  readonly suite: string;
  /** The first two numbers of the version, such as `6.1`. */
  readonly kernel: string;
  readonly size_mb: number;
  readonly packages: readonly string[];
  readonly add: string | undefined;
  readonly fresh: boolean;
  /** What Node calls the processor of this host; asked of Node when absent. */
  readonly cpu?: string;
  readonly step: BuildStep;
  readonly now: () => Date;
}

const packageFile = z.object({ version: z.string() });

/** Needs root and an x86-64 processor. Throws `not_configured` with what is missing, `conflict` while another process builds with the same cache,
 * and `internal` with what a tool said. An image of the name is replaced. */
export async function buildImage(options: BuildOptions): Promise<ImageManifest> {
  const { imagesDir, cacheDir, name, step, cpu = process.arch } = options;
  checkImageName(name);
  // Programs of the image run while it is built, and the agent in it is the one of this host.
  if (cpu !== 'x64')
    throw new RemoraError(
      'not_configured',
      `images are for x86-64, and this processor is ${cpu}: build the image on an x86-64 host and copy its directory into ${imagesDir}`,
    );
  if (process.geteuid?.() !== 0)
    throw new RemoraError('not_configured', 'an image is built by root: debootstrap and chroot need it');
  makeDirectory(cacheDir, 0o700);
  const why = whyNotOwnDirectory(cacheDir);
  if (why !== undefined) throw new RemoraError('not_configured', why);
  // Two builds would put the same directories of the cache in place.
  using _building = openLock(join(cacheDir, 'build.lock'));
  const base = await makeBaseTree(options);
  const kernel = await fetchKernel({ ...options, base, series: options.kernel });
  const work = await mkdtemp(join(cacheDir, 'work-'));
  try {
    const tree = join(work, 'tree');
    step('the files of a machine: Debian, the agent, its units');
    await makeGuestTree({ base, kernel, source: options.source, add: options.add }, tree);
    const digest = await digestTree(tree);
    const whole = join(cacheDir, `image-${toKey(options, kernel, digest)}`);
    if (existsSync(whole)) step('the same was built before: taken from the cache');
    else await makeWhole(options, { base, kernel, work, tree, digest, whole });
    const manifest = await publish(imagesDir, name, whole, options.now);
    await pruneCache(cacheDir, options.now());
    return manifest;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Parts {
  readonly base: string;
  readonly kernel: Kernel;
  readonly work: string;
  readonly tree: string;
  readonly digest: string;
  readonly whole: string;
}

async function makeWhole(options: BuildOptions, { base, kernel, work, tree, digest, whole }: Parts): Promise<void> {
  const { step } = options;
  const early = join(work, 'image');
  makeDirectory(early, 0o755);
  const [kernelFile, initrd] = [join(early, 'kernel'), join(early, 'initrd')];
  await copyFile(join(kernel.dir, 'boot', `vmlinuz-${kernel.version}`), kernelFile);
  await makeInitialRamdisk(kernel, join(work, 'ramdisk'), initrd);
  step(`the disk of ${options.size_mb} MB`);
  const disk = join(work, 'disk.raw');
  await makeRawDisk(tree, options.size_mb, disk);
  const boot = { append: DEFAULT_APPEND, cpu: toCpu(kernel.version) };
  step('a first boot, which takes a minute or more: the compiled code of the agent is kept');
  await warmUp({ kernel: kernelFile, initrd, disk, ...boot, dir: join(work, 'warm-up') });
  await toQcow2(disk, join(early, 'base.qcow2'));
  const packageText = await readFile(join(options.source, 'package.json'), 'utf8');
  const status = await readFile(join(base, 'var/lib/dpkg/status'), 'utf8');
  const manifest: Omit<ImageManifest, 'name' | 'created_at'> = {
    digest,
    architecture: 'x86_64',
    kernel_version: kernel.version,
    agent_version: packageFile.parse(JSON.parse(packageText)).version,
    packages_digest: sumText(toPackages(status).join('\n')),
    boot,
    agent: true,
    files: await sumFiles(early),
  };
  await writeFile(join(early, MANIFEST), JSON.stringify(manifest));
  await rename(early, whole);
}

async function publish(imagesDir: string, name: string, whole: string, now: () => Date): Promise<ImageManifest> {
  makeDirectory(imagesDir, 0o755);
  const early = makeEarlyDir(imagesDir, name);
  try {
    for (const file of IMAGE_FILES) await copyFile(join(whole, file), join(early, file), constants.COPYFILE_FICLONE);
    const kept = JSON.parse(await readFile(join(whole, MANIFEST), 'utf8'));
    const manifest = imageManifest.parse({ ...kept, name, created_at: now().toISOString() });
    await writeFile(join(early, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    await placeImage(imagesDir, name, early);
    return manifest;
  } finally {
    await rm(early, { recursive: true, force: true });
  }
}

function toKey({ size_mb }: BuildOptions, { version }: Kernel, digest: string): string {
  return sumText(JSON.stringify({ digest, version, size_mb })).slice(0, 24);
}

/** A kernel of the series 6.12 was seen to end at its boot with this instruction under software emulation. */
function toCpu(version: string): string {
  return version.startsWith('6.1.') ? 'max' : 'max,-cx16';
}
