// Whether a file is a disk that may become part of an image: qcow2 or raw, whole in itself, and of a bounded size.
import { open } from 'node:fs/promises';
import { z } from 'zod';
import { RemoraError } from '../../core/remora-error.ts';
import { runTool } from '../../linux/processes/run-tool.ts';

export type DiskFormat = 'qcow2' | 'raw';

export const DISK_LIMIT_BYTES = 64 * 1024 ** 3;
const QCOW2_MAGIC = 'QFI\u00fb';

const info = z.object({
  'virtual-size': z.number(),
  'backing-filename': z.string().optional(),
  encrypted: z.boolean().optional(),
  'format-specific': z.object({ data: z.looseObject({ 'data-file': z.string().optional() }) }).optional(),
});

/**
 * The format is told by the first bytes, so that no other of QEMU's formats is ever tried. Throws `invalid_request` for a disk that
 * reads another file, is encrypted, damaged or too large.
 */
export async function checkDisk(path: string): Promise<DiskFormat> {
  const format = await readFormat(path);
  const said = await runTool('qemu-img', ['info', '-f', format, '--output=json', path]).catch((cause) => {
    throw refused(path, 'qemu-img cannot read it', cause);
  });
  const {
    'virtual-size': size_bytes,
    'backing-filename': backing,
    encrypted,
    ...more
  } = info.parse(JSON.parse(said.toString()));
  if (backing !== undefined)
    throw refused(path, `it stands on another file, ${backing}; flatten it with qemu-img convert`);
  if (more['format-specific']?.data['data-file'] !== undefined) throw refused(path, 'its content is in another file');
  if (encrypted === true) throw refused(path, 'it is encrypted');
  if (size_bytes > DISK_LIMIT_BYTES)
    throw refused(path, `it has ${size_bytes} bytes; at most ${DISK_LIMIT_BYTES} are taken`);
  if (format === 'qcow2') {
    await runTool('qemu-img', ['check', '-q', '-f', format, path]).catch((cause) => {
      throw refused(path, 'qemu-img finds it damaged', cause);
    });
  }
  return format;
}

async function readFormat(path: string): Promise<DiskFormat> {
  await using handle = await open(path, 'r').catch((cause) => {
    throw refused(path, 'it cannot be opened', cause);
  });
  const { buffer } = await handle.read(Buffer.alloc(4), 0, 4, 0);
  return buffer.toString('latin1') === QCOW2_MAGIC ? 'qcow2' : 'raw';
}

function refused(path: string, why: string, cause?: unknown): RemoraError {
  return new RemoraError('invalid_request', `the disk ${path} is refused: ${why}`, { cause });
}
