// What is missing here to keep to a policy, as people can provide it.
import type { ProgramPolicy } from '../../contract/local/program-policy.ts';
import { findMissing } from '../../linux/processes/capabilities.ts';
import type { UnixUser } from '../../linux/users.ts';
import { findStartFault } from '../services/find-program.ts';
import { toPrivilegeFlags } from './privilege-flags.ts';

const ROOT = 0;
const ROOT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** Undefined where it can be kept to, and for one that restricts nothing. */
export function findMissingPart(
  { privileges, resources }: ProgramPolicy,
  user: Pick<UnixUser, 'uid'>,
  own_uid = process.geteuid?.() ?? ROOT,
): string | undefined {
  const { devices = [] } = privileges;
  const isFree = toPrivilegeFlags(privileges).length === 0 && devices.length === 0 && resources.memory === undefined;
  if (isFree) return undefined;
  // A program with the rights of the supervisor can do away with whatever holds for it.
  if (own_uid !== ROOT) return 'a supervisor that root runs';
  if (user.uid === ROOT) return 'a user of the sprite that is not root (REMORA_USER)';
  if (findStartFault('setpriv', '/', ROOT_PATH) !== undefined) return 'the program setpriv, of util-linux';
  const rights = findMissing(['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP']);
  if (rights.length > 0) return `a supervisor with ${rights.join(', ')}`;
  if (devices.length > 0) return 'a supervisor that can restrict devices';
  return resources.memory === undefined ? undefined : 'a supervisor that can limit memory';
}
