// What a watch remembers of an entry, and what two looks at it say. Pure.
import type { Stats } from 'node:fs';
import type { FileWatchEvent } from '../../../contract/files.ts';

export interface EntryFact {
  readonly ino: number;
  readonly size: number;
  readonly isDir: boolean;
  readonly changed_ms: number;
  /** Mode and owner. */
  readonly rights: string;
}

export function toEntryFact(stat: Stats): EntryFact {
  const { ino, size, mtimeMs, mode, uid, gid } = stat;
  return { ino, size, isDir: stat.isDirectory(), changed_ms: mtimeMs, rights: `${mode}:${uid}:${gid}` };
}

/** `rename` is not seen here: it takes two entries. Undefined when nothing is different that a watcher is told of. */
export function toChange(
  before: EntryFact | undefined,
  after: EntryFact | undefined,
): FileWatchEvent['event'] | undefined {
  if (after === undefined) return before === undefined ? undefined : 'remove';
  if (before === undefined || before.isDir !== after.isDir) return 'create';
  // A directory changes with its entries, of which there are events.
  if (before.ino !== after.ino) return after.isDir ? 'create' : 'write';
  if (!after.isDir && (before.size !== after.size || before.changed_ms !== after.changed_ms)) return 'write';
  return before.rights === after.rights ? undefined : 'chmod';
}
