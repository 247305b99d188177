// A directory that another process may remove at any time.
import { readdirSync } from 'node:fs';
import { errorCode } from '../../src/core/error-code.ts';

/** The names in the directory; undefined when there is none, or none any more. */
export function namesIn(dir: string): readonly string[] | undefined {
  try {
    return readdirSync(dir);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}
