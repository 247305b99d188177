// A file that is written beside its place and takes it in one step: a reader finds the old content or the new one.
import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, rename, unlink } from 'node:fs/promises';
import { errorCode } from '../../../core/error-code.ts';
import { named } from '../file-error.ts';
import { descriptorPath, pathBelow } from '../tree/descriptor-path.ts';
import type { Spot } from '../tree/spot.ts';
import { sweepTemporaries } from './sweep-temporaries.ts';
import { createTemporaryName } from './temporary-names.ts';

/** Nobody else opens a file until its owner and mode are set. */
const EARLY_MODE = 0o600;
const SET_ID_BITS = 0o6000;
const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_RDONLY, O_DIRECTORY } = constants;

export interface ReplacementEnd {
  readonly mode: number;
  /** Given as far as the rights go. */
  readonly owner?: Pick<Stats, 'uid' | 'gid'> | undefined;
  readonly times?: Pick<Stats, 'atime' | 'mtime'> | undefined;
  /** Whether it is on the disk when this is over. */
  readonly isDurable: boolean;
}

export class Replacement implements AsyncDisposable {
  readonly handle: FileHandle;
  readonly #spot: Spot;
  readonly #name: Buffer;
  #isInPlace = false;

  constructor(handle: FileHandle, spot: Spot, name: Buffer) {
    this.handle = handle;
    this.#spot = spot;
    this.#name = name;
  }

  /** Puts it in its place. Throws FileError. */
  async finish({ mode, owner, times, isDurable }: ReplacementEnd): Promise<void> {
    await named(this.#spot.path, this.#finish(mode, owner, times, isDurable));
  }

  async #finish(
    mode: number,
    owner: ReplacementEnd['owner'],
    times: ReplacementEnd['times'],
    isDurable: boolean,
  ): Promise<void> {
    const isOwned = owner === undefined || (await this.#give(owner));
    // Set-id bits would give the rights of another owner to this content.
    await this.handle.chmod(isOwned ? mode : mode & ~SET_ID_BITS);
    if (times !== undefined) await this.handle.utimes(times.atime, times.mtime);
    if (isDurable) await this.handle.sync();
    await rename(pathBelow(this.#spot.directory, this.#name), this.#spot.at);
    this.#isInPlace = true;
    if (isDurable) await syncDirectory(this.#spot.directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.handle.close();
    if (!this.#isInPlace) await unlink(pathBelow(this.#spot.directory, this.#name)).catch(() => undefined);
  }

  /** Whether both owner and group are as they should be. */
  async #give({ uid, gid }: Pick<Stats, 'uid' | 'gid'>): Promise<boolean> {
    const present = await this.handle.stat();
    if (present.uid === uid && present.gid === gid) return true;
    try {
      await this.handle.chown(uid, gid);
      return true;
    } catch (error) {
      if (errorCode(error) !== 'EPERM') throw error;
    }
    await this.handle.chown(present.uid, gid).catch(() => undefined);
    return false;
  }
}

/** Throws FileError. */
export async function openReplacement(spot: Spot): Promise<Replacement> {
  await sweepTemporaries(spot.directory);
  const name = createTemporaryName();
  const flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;
  const handle = await named(spot.path, open(pathBelow(spot.directory, name), flags, EARLY_MODE));
  return new Replacement(handle, spot, name);
}

/** The name itself is on the disk then. A directory that may not be read cannot be asked for it. */
async function syncDirectory(directory: FileHandle): Promise<void> {
  try {
    await using handle = await open(descriptorPath(directory), O_RDONLY | O_DIRECTORY);
    await handle.sync();
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'EACCES' && code !== 'EINVAL') throw error;
  }
}
