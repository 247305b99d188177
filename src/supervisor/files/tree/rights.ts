// Whose rights a file operation uses, and what follows for links.
import type { Stats } from 'node:fs';

export interface Rights {
  /** Root acts in trees that belong to others: nothing that they may have planted decides where. */
  readonly isCareful: boolean;
}

/** The rights of this process: a link leads nowhere where its user could not go anyway. */
export const ownRights: Rights = { isCareful: false };
export const rootRights: Rights = { isCareful: true };

export type LinkOwner = Pick<Stats, 'uid' | 'gid'>;

const WRITABLE_BY_OTHERS = 0o022;

/** Whether a link may be followed. `/bin` and `/var/run` are links, so that not all can be refused. */
export function mayFollow(rights: Rights, link: Stats, directory: Stats): boolean {
  return !rights.isCareful || (link.uid === 0 && isRootsAlone(directory));
}

/**
 * False for a file that its directory's user may have linked there to have root change or copy it: it has several names and another owner.
 * Kernels differ in whether they allow such links.
 */
export function mayChange(rights: Rights, file: Stats, directory: Stats): boolean {
  if (!rights.isCareful || file.isDirectory() || file.nlink < 2) return true;
  return file.uid === directory.uid || isRootsAlone(directory);
}

/**
 * Who owns a link once it is copied or moved, so that root follows it there no more than where it was: its owner, or for a link of root that
 * others than root may have put there the owner of its directory. Undefined when that is root too.
 */
export function toLinkOwner(rights: Rights, link: Stats, directory: Stats): LinkOwner | undefined {
  if (!rights.isCareful || link.uid !== 0 || mayFollow(rights, link, directory)) return link;
  return directory.uid === 0 ? undefined : directory;
}

function isRootsAlone({ uid, mode }: Stats): boolean {
  return uid === 0 && (mode & WRITABLE_BY_OTHERS) === 0;
}
