// The default directory of `remora dev`: its path is short, because a Unix socket's path may have 107 bytes, and each user has one,
// because it is private.
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';

/** The path only; the directory is not made here. */
export function defaultDevDir(): string {
  const { uid } = userInfo();
  return join(tmpdir(), uid > 0 ? `remora-dev-${uid}` : 'remora-dev');
}
