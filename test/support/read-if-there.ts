// A file that another process may remove at any time: one that is looked for first may be gone when it is read.
import { readFileSync } from 'node:fs';
import { errorCode } from '../../src/core/error-code.ts';

/** The text of the file; undefined when there is none, or none any more. Those of a process below `/proc` are gone with it. */
export function readIfThere(path: string, encoding: BufferEncoding = 'utf8'): string | undefined {
  try {
    return readFileSync(path, encoding);
  } catch (error) {
    if (['ENOENT', 'ESRCH'].includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}
