// Deletes a file, an empty directory, or a directory with all that is in it. Links are deleted, never followed.
import { rmdir, unlink } from 'node:fs/promises';
import type { DeleteRequest, DeleteResponse } from '../../../contract/files.ts';
import { errorCode } from '../../../core/error-code.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { FileError, named } from '../file-error.ts';
import { checkDepth } from '../tree/depth.ts';
import { pin } from '../tree/pin.ts';
import { readNames } from '../tree/read-names.ts';
import type { Rights } from '../tree/rights.ts';
import type { Spot } from '../tree/spot.ts';
import { walk } from '../tree/walk.ts';
import { CappedList } from './capped-list.ts';

/** How often a directory is emptied that somebody else goes on filling. */
const PASSES = 5;

/** Throws FileError. */
export async function deleteFiles(rights: Rights, query: DeleteRequest, signal: AbortSignal): Promise<DeleteResponse> {
  const path = toAbsolutePath(query.path, query.workingDir);
  await using place = await walk(path, { rights, followsLast: false });
  if (place.isRoot) throw new FileError('EBUSY', path, 'the root directory cannot be deleted');
  const deleted = new CappedList<string>();
  const wasThere = await new Deletion(query.recursive, deleted, signal).remove(place, 0);
  if (!wasThere) throw new FileError('ENOENT', path, 'no such file or directory');
  return { deleted: deleted.items, count: deleted.count };
}

export class Deletion {
  readonly #isRecursive: boolean;
  readonly #deleted: CappedList<string>;
  readonly #signal: AbortSignal;

  constructor(isRecursive: boolean, deleted: CappedList<string>, signal: AbortSignal) {
    this.#isRecursive = isRecursive;
    this.#deleted = deleted;
    this.#signal = signal;
  }

  /** False when there was nothing. */
  async remove(spot: Spot, depth: number): Promise<boolean> {
    this.#signal.throwIfAborted();
    checkDepth(depth, spot.path);
    const outcome = await this.#unlink(spot);
    if (outcome === 'directory') return await this.#removeDirectory(spot, depth);
    if (outcome === 'done') this.#deleted.add(spot.path);
    return outcome === 'done';
  }

  async #removeDirectory(spot: Spot, depth: number): Promise<boolean> {
    for (let pass = 0; ; pass += 1) {
      try {
        if (this.#isRecursive) await this.#empty(spot, depth);
        await rmdir(spot.at);
        this.#deleted.add(spot.path);
        return true;
      } catch (error) {
        const code = errorCode(error);
        if (code === 'ENOENT') return false;
        const isAgain = this.#isRecursive && pass < PASSES && (code === 'ENOTEMPTY' || code === 'ENOTDIR');
        if (!isAgain) await named(spot.path, Promise.reject(error));
        // A file has taken its place.
        if (code === 'ENOTDIR' && (await this.#unlink(spot)) === 'done') return true;
      }
    }
  }

  async #empty(spot: Spot, depth: number): Promise<void> {
    await using directory = await pin(spot);
    if (!directory.stat.isDirectory()) throw new FileError('ENOTDIR', spot.path, 'not a directory');
    for await (const name of readNames(directory)) await this.remove(directory.child(name), depth + 1);
  }

  async #unlink(spot: Spot): Promise<'done' | 'gone' | 'directory'> {
    try {
      await unlink(spot.at);
      return 'done';
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT') return 'gone';
      if (code === 'EISDIR') return 'directory';
      return await named(spot.path, Promise.reject(error));
    }
  }
}
