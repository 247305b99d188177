// The images of the suite: as `remora image build` makes them, with a root shell and a bare responder added.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { buildImage } from '../../../src/platform/images/build/build-image.ts';
import { loudly } from '../loudly.ts';
import type { GuestImage } from './guest.ts';

/** The series of the kernels: one without the driver of the generation device, and one with it. */
export type KernelSeries = '6.1' | '6.12';

const TOOLS = ['debootstrap', 'busybox', 'cpio', 'depmod', 'mke2fs', 'xz', 'qemu-img', 'qemu-system-x86_64'];
const CACHE = process.env.REMORA_IMAGE_CACHE ?? '/var/cache/remora-images';
const top = new URL('../../../', import.meta.url).pathname.replace(/\/$/, '');

/** Each tree of sources has images of its own, and so has each worker of a suite: an image is replaced while disks lie on it. */
const OWNER = `${createHash('sha256').update(top).digest('hex').slice(0, 8)}-${process.env.VITEST_POOL_ID ?? '0'}`;

/** For `describe.skipIf`: says what is missing here for a virtual machine. */
export function isWithoutMachines(): boolean {
  const missing = TOOLS.filter((tool) => spawnSync('which', [tool]).status !== 0);
  const why = process.getuid?.() === 0 ? missing.join(', ') : 'the user root';
  return loudly(why !== '', `no virtual machine is booted here, for want of ${why}: nothing of a restore is tried`);
}

/** Takes minutes the first time, and again when the agent has changed. */
export async function makeTestImage(series: KernelSeries): Promise<GuestImage> {
  const imagesDir = join(CACHE, 'suite', OWNER);
  const name = `suite-${series}`;
  const { boot } = await buildImage({
    imagesDir,
    cacheDir: CACHE,
    name,
    source: top,
    suite: 'bookworm',
    kernel: series,
    size_mb: 2_048,
    packages: [],
    add: new URL('./files', import.meta.url).pathname,
    fresh: false,
    step: (text) => process.stderr.write(`image ${name}: ${text}\n`),
    now: () => new Date(),
  });
  return { dir: join(imagesDir, name), ...boot };
}
