// `remora image import`, `list`, `show` and `delete`: each function is one command.
import { resolve } from 'node:path';
import { deleteImage, listImages, readImage, toImagesDir } from '../../platform/images/image-store.ts';
import { importImage } from '../../platform/images/import-image.ts';
import type { Invocation } from '../command.ts';
import { exitCode, UsageError } from '../exit-code.ts';
import { toPlatformDir } from '../platform/platform-dir.ts';
import { toPrintable, toTable } from '../table.ts';

const DIGEST_SHOWN = 12;

export async function importFiles(invocation: Invocation): Promise<number> {
  const { operands, out, text } = invocation;
  const [name = ''] = operands;
  const file = (flag: string) => {
    const given = text(flag);
    if (given === undefined || given === '') throw new UsageError(`--${flag} FILE is missing`);
    return resolve(given);
  };
  const manifest = await importImage({
    imagesDir: toDir(invocation),
    name,
    kernel: file('kernel'),
    initrd: file('initrd'),
    disk: file('disk'),
    append: text('append'),
    cpu: text('cpu'),
    now: () => new Date(),
  });
  out.line(`${name}: kernel ${manifest.kernel_version}, agent ${manifest.agent_version}, files ${manifest.digest}`);
  return exitCode.ok;
}

export async function list(invocation: Invocation): Promise<number> {
  const { out, has } = invocation;
  const images = await listImages(toDir(invocation));
  if (has('json')) {
    out.line(JSON.stringify(images));
    return exitCode.ok;
  }
  if (images.length === 0) {
    out.line('no image yet; remora image build makes one');
    return exitCode.ok;
  }
  const rows = images.map((image) => {
    const size = `${Math.round(image.size_bytes / 1024 ** 2)} MB`;
    if ('fault' in image) return [image.name, '-', '-', size, '-', toPrintable(image.fault)];
    const { kernel_version, agent_version, created_at, digest } = image.manifest;
    return [image.name, kernel_version, agent_version, size, created_at, digest.slice(0, DIGEST_SHOWN)];
  });
  for (const line of toTable([['NAME', 'KERNEL', 'AGENT', 'SIZE', 'CREATED', 'FILES'], ...rows])) out.line(line);
  return exitCode.ok;
}

export async function show(invocation: Invocation): Promise<number> {
  const { manifest } = await readImage(toDir(invocation), invocation.operands[0] ?? '');
  invocation.out.line(JSON.stringify(manifest, null, 2));
  return exitCode.ok;
}

export async function remove(invocation: Invocation): Promise<number> {
  const [name = ''] = invocation.operands;
  await deleteImage(toDir(invocation), name);
  invocation.out.line(`${name} is deleted`);
  return exitCode.ok;
}

function toDir(invocation: Invocation): string {
  return toImagesDir(toPlatformDir(invocation));
}
