// Where the directories of a run lie that are in memory.
import { readFileSync } from 'node:fs';

const MEMORY = '/dev/shm';

/** Names the directory in memory of this run, which makes it and removes it; absent where there is none. */
export const MEMORY_VARIABLE = 'TEST_MEMORY_DIR';

/** A file system in memory where programs may be run, which a machine keeps among its files; undefined where there is none. */
export function findMemory(): string | undefined {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '));
  const options = mounts.findLast(([, place]) => place === MEMORY)?.[3]?.split(',');
  return options?.includes('rw') === true && !options.includes('noexec') ? MEMORY : undefined;
}
