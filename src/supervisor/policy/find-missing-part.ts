// What is missing here to start programs with fewer rights, as people can provide it.
import { findMissing } from '../../linux/processes/capabilities.ts';
import type { UnixUser } from '../../linux/users.ts';
import { findStartFault } from '../services/find-program.ts';

const ROOT = 0;
const ROOT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** Undefined where programs can be restricted. A program with the rights of the supervisor can do away with whatever holds for it. */
export function findMissingPart(
  user: Pick<UnixUser, 'uid'>,
  own_uid = process.geteuid?.() ?? ROOT,
): string | undefined {
  if (own_uid !== ROOT) return 'a supervisor that root runs';
  if (user.uid === ROOT) return 'a user of the sprite that is not root (REMORA_USER)';
  if (findStartFault('setpriv', '/', ROOT_PATH) !== undefined) return 'the program setpriv, of util-linux';
  const rights = findMissing(['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP']);
  return rights.length === 0 ? undefined : `a supervisor with ${rights.join(', ')}`;
}
