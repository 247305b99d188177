// An image of a system that is one shell script, which boots in seconds where a whole one takes most of a minute: for what is the driver's.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeBaseTree } from '../../../src/platform/images/build/base-tree.ts';
import { makeInitialRamdisk } from '../../../src/platform/images/build/initial-ramdisk.ts';
import { fetchKernel } from '../../../src/platform/images/build/kernel.ts';
import { DEFAULT_APPEND, type ImageManifest } from '../../../src/platform/images/image-manifest.ts';

/** Where images and what they are made of are kept, for the next run. */
const IMAGE_CACHE = process.env.REMORA_IMAGE_CACHE ?? '/var/cache/remora-images';
const NONE = '0'.repeat(64);
const INIT = new URL('./small-init', import.meta.url);

/** Takes a minute the first time. Returns the directory that `imagesDir` is for a driver. */
export async function makeSmallImage(dir: string): Promise<string> {
  const tree = join(dir, 'tree');
  const image = join(dir, 'images/small');
  for (const each of [tree, image, join(dir, 'root')]) mkdirSync(each, { recursive: true });
  const step = (text: string) => process.stderr.write(`small image: ${text}\n`);
  const made = { cacheDir: IMAGE_CACHE, fresh: false, step };
  mkdirSync(IMAGE_CACHE, { recursive: true, mode: 0o700 });
  const base = await makeBaseTree({ ...made, suite: 'bookworm', packages: [] });
  const kernel = await fetchKernel({ ...made, base, series: '6.12' });
  const run = (script: string, ...words: string[]) => execFileSync('bash', ['-ec', script, 'bash', ...words]);
  const initrd = join(image, 'initrd');
  await makeInitialRamdisk(kernel, join(dir, 'early'), initrd);
  run('gzip -dc "$1" | (cd "$2" && cpio -idm --quiet)', initrd, tree);
  copyFileSync(INIT, join(tree, 'init'));
  run('cd "$1" && find . | sort | cpio -o -H newc --quiet | gzip -1 > "$2"', tree, initrd);
  copyFileSync(join(kernel.dir, 'boot', `vmlinuz-${kernel.version}`), join(image, 'kernel'));
  const disk = join(image, 'base.qcow2');
  run('mke2fs -q -t ext4 -d "$1" "$2.raw" 256M && qemu-img convert -O qcow2 "$2.raw" "$2"', join(dir, 'root'), disk);
  const manifest: ImageManifest = {
    name: 'small',
    digest: NONE,
    created_at: new Date(0).toISOString(),
    architecture: 'x86_64',
    kernel_version: '0',
    agent_version: '0',
    packages_digest: NONE,
    boot: { append: DEFAULT_APPEND, cpu: 'max,-cx16' },
    agent: true,
    files: { kernel: NONE, initrd: NONE, 'base.qcow2': NONE },
  };
  writeFileSync(join(image, 'manifest.json'), JSON.stringify(manifest));
  return join(dir, 'images');
}
