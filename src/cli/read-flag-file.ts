// Reads a file that is named on the command line.
import { readFileSync } from 'node:fs';
import { toPlainSystemError } from './system-error.ts';

/** `-` reads standard input. The error names the flag, the path and the problem. */
export function readFlagFile(flag: string, path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8');
  } catch (error) {
    throw new Error(`${flag}: ${toPlainSystemError(error)}`, { cause: error });
  }
}
