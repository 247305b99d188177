// Removes what processes that are gone were writing, in each directory at its first use by this process.
import type { FileHandle } from 'node:fs/promises';
import { Pin } from '../tree/pin.ts';
import { readNames } from '../tree/read-names.ts';
import { CappedList } from './capped-list.ts';
import { Deletion } from './delete-files.ts';
import { isLeftOver } from './temporary-names.ts';

/** Directories that are remembered as clean. Beyond it they are looked through once more. */
const SWEPT_MAX = 4_096;

const swept = new Set<string>();

/** What cannot be removed stays: a directory that may be written may still not be readable, or hold files of others. */
export async function sweepTemporaries(directory: FileHandle): Promise<void> {
  const stat = await directory.stat();
  const key = `${stat.dev}:${stat.ino}`;
  if (swept.has(key)) return;
  if (swept.size >= SWEPT_MAX) swept.clear();
  swept.add(key);
  const deletion = new Deletion(true, new CappedList(), new AbortController().signal);
  const held = new Pin(directory, stat, '');
  try {
    for await (const name of readNames(held)) {
      if (isLeftOver(name.toString('latin1'))) await deletion.remove(held.child(name), 0).catch(() => false);
    }
  } catch {
    // It cannot be read.
  }
}
