// Whether only root or this user decides what a path leads to: a file that the agent runs, or writes for others to read, must
// not be another user's, nor lie where another user may put a link in its place.
import { lstatSync, readlinkSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { toErrorMessage } from '../core/error-message.ts';

/** The kernel follows the same number of links. */
const LINKS_MAX = 40;
const GROUP_OR_OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/**
 * Why another user may decide what `path` is; undefined when none may. Every directory on the way must belong to root or to
 * this user and be writable by its owner only; one with the sticky bit, like `/tmp`, may be on the way and not at its end.
 * Links are followed, and their targets must pass the same checks. A path that does not exist is a reason too.
 */
export function whyUntrusted(path: string): string | undefined {
  const left = parts(resolve(path));
  let at = '/';
  let links = 0;
  try {
    for (let next = left.shift(); next !== undefined; next = left.shift()) {
      at = join(at, next);
      const stat = lstatSync(at);
      if (!isOurs(stat)) return `${at} belongs to user ${stat.uid}`;
      if (stat.isSymbolicLink()) {
        links += 1;
        if (links > LINKS_MAX) return `${path} has too many links`;
        const target = readlinkSync(at);
        left.unshift(...parts(target));
        at = target.startsWith('/') ? '/' : join(at, '..');
      } else if (maySomebodyElseWrite(stat, left.length === 0)) {
        return `others may write to ${at}; chmod go-w ${at}`;
      }
    }
  } catch (error) {
    return toErrorMessage(error);
  }
  return undefined;
}

function parts(path: string): string[] {
  return path.split('/').filter((part) => part !== '');
}

function isOurs({ uid }: Stats): boolean {
  return uid === 0 || uid === process.geteuid?.();
}

/** The mode of a socket only says who may connect. In a sticky directory of this user no other user can replace its entries. */
function maySomebodyElseWrite(stat: Stats, isEnd: boolean): boolean {
  if ((stat.mode & GROUP_OR_OTHERS_WRITE) === 0 || stat.isSocket()) return false;
  const isSticky = stat.isDirectory() && (stat.mode & STICKY) !== 0;
  return !isSticky || (isEnd && stat.uid !== process.geteuid?.());
}
