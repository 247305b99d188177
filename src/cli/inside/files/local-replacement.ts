// Writes a file here, so that at any moment the old content or the new one is there.
import { realpathSync, rmSync, statSync } from 'node:fs';
import { open, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { randomHex } from '../../../core/urandom.ts';

const PERMISSIONS = 0o777;

/** A link is followed. What is no regular file, such as a device, is written to as it is. Throws as the system does, or `content`. */
export async function replaceLocalFile(
  path: string,
  content: Readable,
  mode: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const old = statSync(path, { throwIfNoEntry: false });
  if (old !== undefined && !old.isFile() && !old.isDirectory()) {
    const handle = await open(path, 'w');
    await pipeline(content, handle.createWriteStream(), { signal });
    return;
  }
  const place = old === undefined ? path : realpathSync(path);
  const early = join(dirname(place), `.${basename(place).slice(0, 200)}.${randomHex(6)}.remora`);
  const handle = await open(early, 'wx', 0o600).catch((error: unknown) => {
    content.destroy();
    throw error;
  });
  try {
    await handle.writeFile(content, { signal });
    await handle.chmod((mode ?? old?.mode ?? 0o666 & ~process.umask()) & PERMISSIONS);
    await handle.sync();
    await rename(early, place);
  } catch (error) {
    rmSync(early, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}
