// Changes the mode of a file, or of a directory and all that is in it. Below the first one links are left alone.
import { chmod } from 'node:fs/promises';
import type { ChmodRequest, ChmodResponse, ChmodResult } from '../../../contract/files.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { toModeText } from '../file-entry.ts';
import { named } from '../file-error.ts';
import type { Rights } from '../tree/rights.ts';
import { CappedList } from './capped-list.ts';
import { changeTree } from './change-tree.ts';

/** What the owner needs to go on into a directory. */
const ENTERABLE = 0o500;

/** Throws FileError. */
export async function changeMode(rights: Rights, body: ChmodRequest, signal: AbortSignal): Promise<ChmodResponse> {
  const mode = Number.parseInt(body.mode, 8);
  const affected = new CappedList<ChmodResult>();
  await changeTree({
    rights,
    path: toAbsolutePath(body.path, body.workingDir),
    isRecursive: body.recursive,
    // A directory that loses what one needs to enter it is changed after its content.
    isBefore: (mode & ENTERABLE) === ENTERABLE,
    signal,
    async change(file) {
      await named(file.path, chmod(file.at, mode));
      affected.add({ path: file.path, mode: toModeText(mode) });
    },
  });
  return { affected: affected.items, count: affected.count };
}
