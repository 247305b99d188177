// Makes directories with exactly the given mode, whatever the mask of this process. Node's own recursive form never returns
// below `/proc`, where a directory is missing and cannot be made.
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { errorCode } from '../core/error-code.ts';

/**
 * Makes the missing directories of `path`; those that exist keep their mode. Throws the error of the kernel when one cannot be
 * made.
 */
export function makeDirectory(path: string, mode: number): void {
  if (statSync(path, { throwIfNoEntry: false })?.isDirectory() === true) return;
  const above = dirname(resolve(path));
  if (statSync(above, { throwIfNoEntry: false }) === undefined) makeDirectory(above, mode);
  try {
    mkdirSync(path, { mode });
    chmodSync(path, mode);
  } catch (error) {
    const wasMade = errorCode(error) === 'EEXIST';
    // Another process may have made it first; a file of that name is an error.
    if (!wasMade || statSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) throw error;
  }
}
