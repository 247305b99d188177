// Gives up root in every thread of this process, for good, with the groups of the user and none of root's.
import type { UserProcessOptions } from './user-process-message.ts';

const USER_UMASK = 0o022;

/** The types of Node leave it out. */
interface WithInitGroups {
  readonly initgroups?: (user: string, group: number) => void;
}

/** Throws when anything of root is left. */
export function giveUpRoot({ name, uid, gid }: UserProcessOptions['user']): void {
  const { setgid, setuid, getuid, geteuid, getgid, getegid } = process;
  const { initgroups } = process as WithInitGroups;
  if (!initgroups || !setgid || !setuid || !getuid || !geteuid || !getgid || !getegid) {
    throw new Error('this system has no users');
  }
  initgroups(name, gid);
  setgid(gid);
  setuid(uid);
  process.umask(USER_UMASK);
  const isUser = getuid() === uid && geteuid() === uid && getgid() === gid && getegid() === gid;
  if (!isUser || (uid !== 0 && canReturn(setuid))) throw new Error(`the process could not become the user ${name}`);
}

function canReturn(setuid: (id: number) => void): boolean {
  try {
    setuid(0);
    return true;
  } catch {
    return false;
  }
}
