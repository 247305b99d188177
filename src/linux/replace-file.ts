// Replaces a file in one step: a crash at any moment leaves the old text or the new one.
import { closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';

/** Writes a file with exactly this mode, whatever the mask of this process. Throws the error of the file system. */
export function replaceFile(path: string, text: string, mode: number): void {
  const early = `${path}~`;
  rmSync(early, { force: true });
  // Exclusive creation follows no link.
  const file = openSync(early, 'wx', mode);
  try {
    fchmodSync(file, mode);
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(early, path);
}
