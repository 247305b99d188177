// Whether a directory for databases and keys is in the hands of this user alone.
import { statSync } from 'node:fs';

const OTHERS_WRITE = 0o002;
const GROUP_OR_OTHERS_WRITE = 0o022;

/**
 * Why another user may change what is in the directory, with what to do; undefined when none may, and for a path that is no
 * directory. Root may always. The primary group of a user is often that user's alone, so it may write.
 */
export function whyNotOwnDirectory(path: string): string | undefined {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat?.isDirectory() !== true) return undefined;
  const user = process.geteuid?.();
  if (stat.uid !== user && stat.uid !== 0) {
    return `${path} belongs to user ${stat.uid}; choose a directory of your own, or chown ${user} ${path}`;
  }
  const others = stat.gid === process.getegid?.() ? OTHERS_WRITE : GROUP_OR_OTHERS_WRITE;
  if ((stat.mode & others) === 0) return undefined;
  return `others may write to ${path}; choose a directory of your own, or chmod go-w ${path}`;
}
