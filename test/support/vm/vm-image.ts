// The images of the suite: as `remora image build` makes them, with a root shell and a bare responder added.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildImage } from '../../../src/platform/images/build/build-image.ts';
import { digestTree } from '../../../src/platform/images/build/tree-digest.ts';
import { imageManifest, MANIFEST } from '../../../src/platform/images/image-manifest.ts';
import { sumFile } from '../../../src/platform/images/sum-file.ts';
import { makeInstalledTree } from '../installed-tree.ts';
import { loudly } from '../loudly.ts';
import { withFileLock } from './file-lock.ts';
import type { GuestImage } from './guest.ts';

/** The series of the kernels: one without the driver of the generation device, and one with it. */
export type KernelSeries = '6.1' | '6.12';

const TOOLS = ['debootstrap', 'busybox', 'cpio', 'depmod', 'mke2fs', 'xz', 'qemu-img', 'qemu-system-x86_64'];
const CACHE = process.env.REMORA_IMAGE_CACHE ?? '/var/cache/remora-images';
const FILES = new URL('./files', import.meta.url).pathname;
/** The agent is made of these, apart from its packages, which the lock file names. */
const sources = ['bin', 'src', 'systemd', 'package.json', 'package-lock.json'];
const top = new URL('../../../', import.meta.url).pathname.replace(/\/$/, '');

/** Each tree of sources has images of its own: disks lie on them. */
const imagesDir = join(CACHE, 'suite', createHash('sha256').update(top).digest('hex').slice(0, 8));

/** Says for `describe.skipIf` what is missing here for a virtual machine. */
export function isWithoutMachines(): boolean {
  const missing = TOOLS.filter((tool) => spawnSync('which', [tool]).status !== 0);
  const why = process.getuid?.() === 0 ? missing.join(', ') : 'the user root';
  return loudly(why !== '', `no virtual machine is booted here, for want of ${why}: nothing of a restore is tried`);
}

/** Takes minutes the first time, and again when the agent has changed. */
export async function makeTestImage(series: KernelSeries): Promise<GuestImage> {
  mkdirSync(imagesDir, { recursive: true, mode: 0o700 });
  return await withFileLock(join(imagesDir, 'lock'), async () => {
    const { name, stamp } = toNames(series);
    const kept = await findTestImage(series);
    if (kept !== undefined) return kept;
    const parts = await digestParts();
    rmSync(stamp, { force: true });
    const { boot } = await build(name, series);
    writeFileSync(stamp, parts);
    return { dir: join(imagesDir, name), ...boot };
  });
}

/** The one that was made before of this tree; undefined when there is none. */
export async function findTestImage(series: KernelSeries): Promise<GuestImage | undefined> {
  const { name, stamp } = toNames(series);
  const kept = readBoot(name, stamp, await digestParts());
  return kept === undefined ? undefined : { dir: join(imagesDir, name), ...kept };
}

function toNames(series: KernelSeries): { readonly name: string; readonly stamp: string } {
  const name = `suite-${series}`;
  return { name, stamp: join(imagesDir, `${name}.made-of`) };
}

/** Digests everything in this tree that goes into an image. */
async function digestParts(): Promise<string> {
  const trees = [...sources.map((path) => join(top, path)), FILES];
  const digests = await Promise.all(trees.map((path) => (statSync(path).isFile() ? sumFile(path) : digestTree(path))));
  return digests.join('\n');
}

/** What the image that was made before boots with; undefined when it is made of other parts. */
function readBoot(name: string, stamp: string, parts: string): Omit<GuestImage, 'dir'> | undefined {
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== parts) return undefined;
  return imageManifest.parse(JSON.parse(readFileSync(join(imagesDir, name, MANIFEST), 'utf8'))).boot;
}

async function build(name: string, series: KernelSeries) {
  using agent = await makeInstalledTree();
  return await buildImage({
    imagesDir,
    cacheDir: CACHE,
    name,
    source: agent.path,
    suite: 'bookworm',
    kernel: series,
    size_mb: 2_048,
    packages: [],
    add: FILES,
    fresh: false,
    step: (text) => process.stderr.write(`image ${name}: ${text}\n`),
    now: () => new Date(),
  });
}
