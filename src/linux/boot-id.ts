// The id of this boot of the kernel.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Changes with every cold boot and never with a resume, so that pids and start times of another boot are not compared. Undefined
 * when the kernel shows none. `procRoot` is /proc, or a copy of it in a test.
 */
export function readBootId(procRoot = '/proc'): string | undefined {
  try {
    return readFileSync(join(procRoot, 'sys/kernel/random/boot_id'), 'latin1').trim();
  } catch {
    return undefined;
  }
}
