// Where `remora dev` keeps its files when nothing is said: short, because a Unix socket's path has a limit of 107 bytes, and
// one per user, because the directory is private.
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** Not made here. */
export function defaultDevDir(): string {
  const { uid } = userInfo();
  return join(tmpdir(), uid > 0 ? `remora-dev-${uid}` : 'remora-dev');
}
