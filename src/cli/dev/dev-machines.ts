// What runs the machine of a `remora dev`: a process of this host, or a virtual machine. What is missing for one is said before anything
// is opened.
import { resolve } from 'node:path';
import { RemoraError } from '../../core/remora-error.ts';
import { toImagesDir } from '../../platform/images/image-store.ts';
import type { QemuSettings } from '../../platform/machines/drivers/qemu/qemu-settings.ts';
import type { Invocation } from '../command.ts';
import { DEFAULT_PLATFORM_DIR } from '../platform/platform-dir.ts';
import { readQemuFlags } from '../platform/qemu-flags.ts';

/**
 * Undefined for a process. The images are those of the platform of this machine, because `remora image build` puts them there. Throws
 * UsageError, and `not_configured` with what is missing and how to get it.
 */
export async function readDevMachines({
  text,
  env,
}: Pick<Invocation, 'text' | 'env'>): Promise<QemuSettings | undefined> {
  const flags = readQemuFlags(text);
  if (flags === undefined) return undefined;
  const { checkHost } = await import('../../platform/machines/drivers/qemu/check-host.ts');
  const missing = await checkHost(flags);
  if (missing !== undefined) throw new RemoraError('not_configured', missing);
  const imagesDir = toImagesDir(resolve(env.REMORA_PLATFORM_DIR ?? DEFAULT_PLATFORM_DIR));
  const { findImage } = await import('../../platform/machines/drivers/qemu/image.ts');
  await findImage(imagesDir, { named: undefined, usual: flags.image }).catch((error: unknown) => {
    if (!(error instanceof RemoraError)) throw error;
    throw new RemoraError(error.code, `${error.message} (REMORA_PLATFORM_DIR; looked in ${imagesDir})`, {
      cause: error,
    });
  });
  return { ...flags, imagesDir };
}
