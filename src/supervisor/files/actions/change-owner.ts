// Changes the owner of a file, or of a directory and all that is in it. Below the first one links are left alone.
import { chown } from 'node:fs/promises';
import type { ChownRequest, ChownResponse, ChownResult, FileOwner } from '../../../contract/files.ts';
import { findGroup } from '../../../linux/groups.ts';
import { findUser } from '../../../linux/users.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError, named } from '../file-error.ts';
import type { Rights } from '../tree/rights.ts';
import { CappedList } from './capped-list.ts';
import { changeTree } from './change-tree.ts';

/** The largest number stands for "as it is" (chown(2)). */
const ID_MAX = 4_294_967_294;

/** Throws FileError. */
export async function changeOwner(rights: Rights, body: ChownRequest, signal: AbortSignal): Promise<ChownResponse> {
  const path = toAbsolutePath(body.path, body.workingDir);
  const uid = toId(body.uid, 'uid', path, (name) => findUser(name)?.uid);
  const gid = toId(body.gid, 'gid', path, (name) => findGroup(name)?.gid);
  const affected = new CappedList<ChownResult>();
  await changeTree({
    rights,
    path,
    isRecursive: body.recursive,
    isBefore: false,
    signal,
    async change(file) {
      const owner = { uid: uid ?? file.stat.uid, gid: gid ?? file.stat.gid };
      await named(file.path, chown(file.at, owner.uid, owner.gid));
      affected.add({ path: file.path, ...owner });
    },
  });
  return { affected: affected.items, count: affected.count };
}

function toId(
  owner: FileOwner | undefined,
  field: 'uid' | 'gid',
  path: string,
  find: (name: string) => number | undefined,
): number | undefined {
  if (owner === undefined || typeof owner === 'number') return owner;
  if (typeof owner !== 'string') throw new FileError('EINVAL', path, `${field} must be a number or a name`);
  const id = find(owner) ?? (/^\d{1,10}$/.test(owner) ? Number(owner) : undefined);
  if (id !== undefined && id <= ID_MAX) return id;
  throw new FileError('EINVAL', path, `there is no ${field === 'uid' ? 'user' : 'group'} of this name (${field})`);
}
