// Gives a file or a directory another name, as rename(2) does; between file systems it is copied whole, put in its place in one step, and
// then deleted where it was.
import { rename } from 'node:fs/promises';
import type { RenameRequest, RenameResponse } from '../../../contract/files.ts';
import { errorCode } from '../../../core/error-code.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError, toFileError } from '../file-error.ts';
import { pinIfThere } from '../tree/pin.ts';
import { mayFollow, type Rights, toLinkOwner } from '../tree/rights.ts';
import { Spot } from '../tree/spot.ts';
import { walk } from '../tree/walk.ts';
import { CappedList } from './capped-list.ts';
import { TreeCopy } from './copy-tree.ts';
import { Deletion } from './delete-files.ts';
import { giveLink } from './give-link.ts';
import { createTemporaryName } from './temporary-names.ts';

/** Errors of rename(2) that are about the new name. */
const ABOUT_DEST: readonly unknown[] = ['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'ENOSPC', 'EDQUOT'];

/** Throws FileError. */
export async function renameFile(rights: Rights, body: RenameRequest, signal: AbortSignal): Promise<RenameResponse> {
  const paths = {
    source: toAbsolutePath(body.source, body.workingDir),
    dest: toAbsolutePath(body.dest, body.workingDir),
  };
  await using source = await walk(paths.source, { rights, followsLast: false });
  await using dest = await walk(paths.dest, { rights, followsLast: false });
  for (const spot of [source, dest]) {
    if (spot.isRoot) throw new FileError('EBUSY', spot.path, 'the root directory cannot be renamed');
  }
  try {
    await rename(source.at, dest.at);
    if (rights.isCareful) await keepUnfollowed(rights, source, dest);
  } catch (error) {
    if (errorCode(error) === 'EXDEV') await moveAcross(rights, source, dest, signal);
    else throw toFileError(error, ABOUT_DEST.includes(errorCode(error)) ? dest.path : source.path);
  }
  return paths;
}

/** A link of root that others may have put at `source` must not become one that root follows. Where root would, nobody else can exchange it. */
async function keepUnfollowed(rights: Rights, source: Spot, dest: Spot): Promise<void> {
  await using moved = await pinIfThere(dest);
  if (moved?.stat.isSymbolicLink() !== true) return;
  if (!mayFollow(rights, moved.stat, await dest.directory.stat())) return;
  const owner = toLinkOwner(rights, moved.stat, await source.directory.stat());
  if (owner !== undefined) {
    await giveLink(dest, owner);
    return;
  }
  await rename(dest.at, source.at);
  throw new FileError('EPERM', source.path, 'others than root may have put this link of root here');
}

async function moveAcross(rights: Rights, source: Spot, dest: Spot, signal: AbortSignal): Promise<void> {
  const early = new Spot(dest.directory, createTemporaryName(), dest.path);
  const copy = new TreeCopy({ rights, keepsAttributes: true, isDurable: true, signal });
  try {
    await copy.copy(source, early);
    const special = copy.skipped.items[0];
    if (special !== undefined) {
      throw new FileError('EXDEV', special, 'a device, FIFO or socket cannot go to another file system');
    }
    await rename(early.at, dest.at);
  } catch (error) {
    // The caller may be gone: what was begun is removed nevertheless.
    await new Deletion(true, new CappedList(), new AbortController().signal).remove(early, 0);
    throw toFileError(error, dest.path);
  }
  await new Deletion(true, new CappedList(), new AbortController().signal).remove(source, 0);
}
