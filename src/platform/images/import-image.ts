// Takes a kernel, an initial ramdisk and a disk that exist as an image.
import { constants } from 'node:fs';
import { copyFile, open, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { makeDirectory } from '../../linux/make-directory.ts';
import { runTool } from '../../linux/processes/run-tool.ts';
import { checkDisk } from './check-disk.ts';
import { DEFAULT_APPEND, IMAGE_FILES, type ImageManifest, imageManifest, MANIFEST } from './image-manifest.ts';
import { checkImageName, makeEarlyDir, placeImage } from './image-store.ts';
import { KERNEL_HEAD_BYTES, readKernelVersion } from './kernel-version.ts';
import { readAgent } from './read-agent.ts';
import { sumFile, sumText } from './sum-file.ts';

export interface ImportOptions {
  readonly imagesDir: string;
  readonly name: string;
  readonly kernel: string;
  readonly initrd: string;
  readonly disk: string;
  readonly append?: string | undefined;
  readonly cpu?: string | undefined;
  readonly now: () => Date;
}

const KERNEL_LIMIT_BYTES = 256 * 1024 ** 2;
const INITRD_LIMIT_BYTES = 1024 ** 3;
const CONVERT_LIMIT_MS = 30 * 60_000;

/** Throws `invalid_request` with what is wrong with which file, above all when the disk has no agent. An image of the name is replaced. */
export async function importImage(options: ImportOptions): Promise<ImageManifest> {
  const { imagesDir, name, kernel, initrd, disk, now } = options;
  checkImageName(name);
  const kernel_version = await checkKernel(kernel);
  await checkSize('initial ramdisk', initrd, INITRD_LIMIT_BYTES);
  const format = await checkDisk(disk);
  makeDirectory(imagesDir, 0o755);
  const early = makeEarlyDir(imagesDir, name);
  try {
    const raw = join(early, 'disk.raw');
    const limit = { limit_ms: CONVERT_LIMIT_MS };
    await runTool('qemu-img', ['convert', '-f', format, '-O', 'raw', disk, raw], limit);
    const found = await readAgent(raw);
    await runTool('qemu-img', ['convert', '-f', 'raw', '-O', 'qcow2', raw, join(early, 'base.qcow2')], limit);
    await rm(raw);
    await copyFile(kernel, join(early, 'kernel'), constants.COPYFILE_FICLONE);
    await copyFile(initrd, join(early, 'initrd'), constants.COPYFILE_FICLONE);
    const files = await sumFiles(early);
    const manifest = imageManifest.parse({
      name,
      digest: sumText(IMAGE_FILES.map((file) => `${files[file]} ${file}\n`).join('')),
      created_at: now().toISOString(),
      architecture: 'x86_64',
      kernel_version,
      ...found,
      boot: { append: options.append ?? DEFAULT_APPEND, cpu: options.cpu ?? 'max' },
      agent: true,
      files,
    });
    await writeFile(join(early, MANIFEST), `${JSON.stringify(manifest, null, 2)}\n`);
    await placeImage(imagesDir, name, early);
    return manifest;
  } finally {
    await rm(early, { recursive: true, force: true });
  }
}

export async function sumFiles(dir: string): Promise<ImageManifest['files']> {
  const [kernel = '', initrd = '', disk = ''] = await Promise.all(IMAGE_FILES.map((file) => sumFile(join(dir, file))));
  return { kernel, initrd, 'base.qcow2': disk };
}

async function checkKernel(path: string): Promise<string> {
  await checkSize('kernel', path, KERNEL_LIMIT_BYTES);
  await using handle = await open(path, 'r');
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(KERNEL_HEAD_BYTES), 0, KERNEL_HEAD_BYTES, 0);
  const version = readKernelVersion(buffer.subarray(0, bytesRead));
  if (version === undefined) throw new RemoraError('invalid_request', `${path} is no Linux kernel for x86 (bzImage)`);
  return version;
}

async function checkSize(what: string, path: string, limit_bytes: number): Promise<void> {
  const found = await stat(path).catch((cause) => {
    throw new RemoraError('invalid_request', `the ${what} ${path} cannot be read`, { cause });
  });
  if (found.isFile() && found.size > 0 && found.size <= limit_bytes) return;
  throw new RemoraError(
    'invalid_request',
    `the ${what} ${path} is refused: a file of 1 to ${limit_bytes} bytes is taken`,
  );
}
