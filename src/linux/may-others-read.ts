// Whether every user of this machine may read a file, as a umask of 022 leaves it.
import { statSync } from 'node:fs';

const OTHERS_READ = 0o004;

/** False for a pipe, a terminal, and a path that cannot be looked at. */
export function mayOthersRead(path: string): boolean {
  try {
    const stat = statSync(path);
    return stat.isFile() && (stat.mode & OTHERS_READ) !== 0;
  } catch {
    return false;
  }
}
