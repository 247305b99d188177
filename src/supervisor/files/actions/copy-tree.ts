// Copies a file, a link or a tree to a new name. Every file of the copy appears whole; links are copied, not followed.
import { constants } from 'node:fs';
import {
  chmod,
  chown,
  type FileHandle,
  mkdir,
  open,
  readlink,
  rename,
  symlink,
  unlink,
  utimes,
} from 'node:fs/promises';
import type { CopyResult } from '../../../contract/files.ts';
import { errorCode } from '../../../core/error-code.ts';
import { FileError, named } from '../file-error.ts';
import { checkDepth } from '../tree/depth.ts';
import { type Pin, pin, pinIfThere } from '../tree/pin.ts';
import { readNames } from '../tree/read-names.ts';
import { mayChange, type Rights, toLinkOwner } from '../tree/rights.ts';
import { Spot } from '../tree/spot.ts';
import { CappedList } from './capped-list.ts';
import { giveLink } from './give-link.ts';
import { openReplacement } from './replacement.ts';
import { createTemporaryName } from './temporary-names.ts';

const PIECE_BYTES = 512 * 1024;
/** What a copy without attributes keeps of the mode. */
const PLAIN_MODE = 0o755;
const PERMISSIONS = 0o777;
const ALL_BITS = 0o7777;
const EARLY_MODE = 0o700;

export interface TreeCopyOptions {
  readonly rights: Rights;
  /** Mode, times and, as far as the rights go, owner. */
  readonly keepsAttributes: boolean;
  /** Whether each file is on the disk when it is in its place. */
  readonly isDurable: boolean;
  readonly signal: AbortSignal;
}

export class TreeCopy {
  readonly copied = new CappedList<CopyResult>();
  /** Devices, FIFOs and sockets: they have no content to copy. */
  readonly skipped = new CappedList<string>();
  total_bytes = 0;
  readonly #options: TreeCopyOptions;

  constructor(options: TreeCopyOptions) {
    this.#options = options;
  }

  /** Throws FileError when `source` does not exist; goes on past what vanishes below it. */
  async copy(source: Spot, dest: Spot, depth = 0): Promise<void> {
    this.#options.signal.throwIfAborted();
    checkDepth(depth, source.path);
    await using from = depth === 0 ? await pin(source) : await pinIfThere(source);
    if (from === undefined) return;
    await this.#checkNames(source, from);
    if (from.stat.isDirectory()) await this.#copyDirectory(from, dest, depth);
    else if (from.stat.isFile()) await this.#copyFile(from, dest);
    else if (from.stat.isSymbolicLink()) await this.#copyLink(source, from, dest);
    else this.skipped.add(source.path);
  }

  /** A copy may become readable to the owner of its directory, who must not have planted its source there. */
  async #checkNames({ directory, path }: Spot, from: Pin): Promise<void> {
    const { rights } = this.#options;
    if (!rights.isCareful || mayChange(rights, from.stat, await directory.stat())) return;
    throw new FileError('EPERM', path, 'the file has several names and another owner than its directory');
  }

  async #copyDirectory(from: Pin, dest: Spot, depth: number): Promise<void> {
    const isNew = await makeDirectory(dest);
    await using to = await pin(dest);
    if (!to.stat.isDirectory()) throw new FileError('ENOTDIR', dest.path, 'not a directory');
    this.copied.add({ source: from.path, dest: dest.path });
    for await (const name of readNames(from)) await this.copy(from.child(name), to.child(name), depth + 1);
    // Somebody else's directory may have come into its place.
    if (!isNew || to.stat.uid !== process.geteuid?.()) return;
    if (this.#options.keepsAttributes) await this.#keepAttributes(from, to);
    else await named(to.path, chmod(to.at, from.stat.mode & PLAIN_MODE));
  }

  async #keepAttributes({ stat }: Pin, to: Pin): Promise<void> {
    const isOwned = await chown(to.at, stat.uid, stat.gid).then(
      () => true,
      () => false,
    );
    await named(to.path, chmod(to.at, stat.mode & (isOwned ? ALL_BITS : PERMISSIONS)));
    await named(to.path, utimes(to.at, stat.atime, stat.mtime));
  }

  async #copyFile(from: Pin, dest: Spot): Promise<void> {
    const { keepsAttributes, isDurable } = this.#options;
    await using old = await pinIfThere(dest);
    if (old?.stat.isDirectory() === true) throw new FileError('EISDIR', dest.path, 'is a directory');
    if (old !== undefined && old.stat.ino === from.stat.ino && old.stat.dev === from.stat.dev) {
      throw new FileError('EINVAL', dest.path, 'source and destination are the same file');
    }
    await using input = await named(from.path, open(from.at, constants.O_RDONLY | constants.O_NONBLOCK));
    await using replacement = await openReplacement(dest);
    this.total_bytes += await this.#copyContent(input, replacement.handle, dest.path);
    const { stat } = from;
    const kept = old?.stat.isFile() === true ? old.stat : undefined;
    const mode = kept === undefined ? stat.mode & PLAIN_MODE : kept.mode & PERMISSIONS;
    await replacement.finish(
      keepsAttributes
        ? { mode: stat.mode & ALL_BITS, owner: stat, times: stat, isDurable }
        : { mode, owner: kept, isDurable },
    );
    this.copied.add({ source: from.path, dest: dest.path });
  }

  async #copyContent(input: FileHandle, output: FileHandle, path: string): Promise<number> {
    const piece = Buffer.allocUnsafe(PIECE_BYTES);
    for (let size = 0; ; ) {
      this.#options.signal.throwIfAborted();
      const { bytesRead } = await named(path, input.read(piece, 0, piece.length, null));
      if (bytesRead === 0) return size;
      for (let from = 0; from < bytesRead; ) {
        from += (await named(path, output.write(piece, from, bytesRead - from))).bytesWritten;
      }
      size += bytesRead;
    }
  }

  async #copyLink(source: Spot, from: Pin, dest: Spot): Promise<void> {
    const { rights, keepsAttributes } = this.#options;
    const owner = toLinkOwner(rights, from.stat, await source.directory.stat());
    if (owner === undefined) {
      throw new FileError('EPERM', source.path, 'others than root may have put this link of root here');
    }
    const target = await named(source.path, readlink(source.at, { encoding: 'buffer' }));
    const early = new Spot(dest.directory, createTemporaryName(), dest.path);
    await named(dest.path, symlink(target, early.at));
    try {
      if (rights.isCareful) await giveLink(early, owner);
      // The owner is given as far as the rights go.
      else if (keepsAttributes) await giveLink(early, owner).catch(() => undefined);
      await named(dest.path, rename(early.at, dest.at));
    } catch (error) {
      await unlink(early.at).catch(() => undefined);
      throw error;
    }
    this.copied.add({ source: source.path, dest: dest.path });
  }
}

/** False when there is something already. */
async function makeDirectory(spot: Spot): Promise<boolean> {
  try {
    await mkdir(spot.at, EARLY_MODE);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    return await named(spot.path, Promise.reject(error));
  }
}
