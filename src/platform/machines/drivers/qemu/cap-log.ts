// Bounds a log that another process appends to: its end goes to one older file, and it begins again. What is written between the two is lost.
import { open, rename, truncate } from 'node:fs/promises';
import { errorCode } from '../../../../core/error-code.ts';

/** Bounds each of the two files; a log that grew while no platform ran is cut to it. */
const CAP_BYTES = 4 * 1024 * 1024;

const olderOf = (path: string) => `${path}.1`;

/** Begins a new log with a cap of 0. Does nothing for a log that is small or not there. The writer must append: it goes on at the new end. */
export async function capLog(path: string, cap_bytes = CAP_BYTES): Promise<void> {
  try {
    await using log = await open(path, 'r');
    const { size } = await log.stat();
    if (size <= cap_bytes) return;
    const kept_bytes = Math.min(size, CAP_BYTES);
    const bytes = Buffer.alloc(kept_bytes);
    const { bytesRead } = await log.read(bytes, 0, kept_bytes, size - kept_bytes);
    {
      await using older = await open(`${olderOf(path)}~`, 'w', 0o600);
      await older.writeFile(bytes.subarray(0, bytesRead));
    }
    await rename(`${olderOf(path)}~`, olderOf(path));
    await truncate(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
