// The users of this machine, as /etc/passwd lists them. Users of a directory service are not found.
import { readFileSync } from 'node:fs';

export interface UnixUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
}

const PASSWD = '/etc/passwd';

/** Finds a user by name or number. Undefined when there is none; throws when the list cannot be read. */
export function findUser(nameOrUid: string, path: string = PASSWD): UnixUser | undefined {
  const users = readFileSync(path, 'utf8').split('\n').map(parseUser);
  return users.find((user) => user !== undefined && (user.name === nameOrUid || String(user.uid) === nameOrUid));
}

function parseUser(line: string): UnixUser | undefined {
  const [name, , uid, gid, , home, shell] = line.split(':');
  if (name === undefined || name === '' || !/^\d+$/.test(uid ?? '') || !/^\d+$/.test(gid ?? '')) return undefined;
  return { name, uid: Number(uid), gid: Number(gid), home: home || '/', shell: shell || '/bin/sh' };
}
