// The groups of this machine, as /etc/group lists them. Groups of a directory service are not found.
import { readFileSync } from 'node:fs';

export interface UnixGroup {
  readonly name: string;
  readonly gid: number;
}

const GROUP = '/etc/group';

/** Finds a group by name or number. Undefined when there is none; throws when the list cannot be read. */
export function findGroup(nameOrGid: string, path: string = GROUP): UnixGroup | undefined {
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    const [name = '', , gid = ''] = line.split(':');
    if (name !== '' && /^\d+$/.test(gid) && (name === nameOrGid || gid === nameOrGid))
      return { name, gid: Number(gid) };
  }
  return undefined;
}
