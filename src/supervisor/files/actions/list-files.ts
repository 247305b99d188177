// Lists a directory: directories first, then by name. Nothing that is listed is opened, directories excepted.
import type { Stats } from 'node:fs';
import { lstat } from 'node:fs/promises';
import type { FileEntry, FileListResponse, ListFilesRequest } from '../../../contract/files.ts';
import { errorCode } from '../../../core/error-code.ts';
import { toAbsolutePath } from '../absolute-path.ts';
import { toFileEntry } from '../file-entry.ts';
import { FileError } from '../file-error.ts';
import { type Glob, parseGlob } from '../glob.ts';
import { checkDepth } from '../tree/depth.ts';
import { type Pin, pin } from '../tree/pin.ts';
import { readNames } from '../tree/read-names.ts';
import type { Rights } from '../tree/rights.ts';
import { walk } from '../tree/walk.ts';

const ENTRIES_MAX = 100_000;
/** Names that the pattern leaves out cost time and memory too. */
const NAMES_MAX = 1_000_000;
/** How many files are looked at at once. */
const STATS_AT_ONCE = 32;
const SLASH = Buffer.from('/');

/** The children of a directory; of anything else that one alone. Throws FileError. */
export async function listFiles(
  rights: Rights,
  query: ListFilesRequest,
  signal: AbortSignal,
): Promise<FileListResponse> {
  const path = toAbsolutePath(query.path, query.workingDir);
  await using place = await walk(path, { rights, followsLast: true });
  await using top = await pin(place);
  if (!top.stat.isDirectory()) return { path, entries: [toFileEntry(place.name, path, top.stat)], count: 1 };
  const glob = query.pattern === undefined || query.pattern === '' ? undefined : parseGlob(query.pattern);
  const listing = new Listing({ path, glob, isRecursive: query.recursive, signal });
  await listing.add(top, Buffer.alloc(0), 0);
  return { path, entries: listing.entries, count: listing.entries.length };
}

interface ListingOptions {
  readonly path: string;
  readonly glob: Glob | undefined;
  readonly isRecursive: boolean;
  readonly signal: AbortSignal;
}

interface Child {
  readonly name: Buffer;
  readonly stat: Stats;
}

class Listing {
  readonly entries: FileEntry[] = [];
  readonly #options: ListingOptions;
  #names = 0;

  constructor(options: ListingOptions) {
    this.#options = options;
  }

  /** `prefix`: the way from the directory that is listed to this one, with a slash at its end. */
  async add(directory: Pin, prefix: Buffer, depth: number): Promise<void> {
    checkDepth(depth, directory.path);
    const { glob, isRecursive } = this.#options;
    for (const { name, stat } of await this.#readChildren(directory, prefix)) {
      const below = Buffer.concat([prefix, name]);
      const spot = directory.child(name);
      if (glob === undefined || glob.matches(below.toString())) this.entries.push(toFileEntry(below, spot.path, stat));
      if (this.entries.length > ENTRIES_MAX) throw this.#tooMany();
      if (!isRecursive || !stat.isDirectory()) continue;
      await using inner = await pin(spot).catch(ignoreUnreachable);
      if (inner?.stat.isDirectory() !== true) continue;
      await this.add(inner, Buffer.concat([below, SLASH]), depth + 1).catch(ignoreUnreachable);
    }
  }

  async #readChildren(directory: Pin, prefix: Buffer): Promise<Child[]> {
    const { glob, isRecursive, signal } = this.#options;
    const children: Child[] = [];
    let batch: Buffer[] = [];
    const look = async () => {
      signal.throwIfAborted();
      for (const child of await Promise.all(batch.map((name) => statChild(directory, name)))) {
        if (child !== undefined) children.push(child);
      }
      batch = [];
      if (children.length > ENTRIES_MAX) throw this.#tooMany();
    };
    for await (const name of readNames(directory)) {
      this.#names += 1;
      if (this.#names > NAMES_MAX) throw this.#tooMany();
      if (!isRecursive && glob?.matches(Buffer.concat([prefix, name]).toString()) === false) continue;
      batch.push(name);
      if (batch.length >= STATS_AT_ONCE) await look();
    }
    await look();
    return children.sort(compareChildren);
  }

  #tooMany(): FileError {
    const what = `there are more than ${ENTRIES_MAX} entries; list a directory further down, or use a pattern`;
    return new FileError('EFBIG', this.#options.path, what);
  }
}

/** Undefined when it has vanished. */
async function statChild(directory: Pin, name: Buffer): Promise<Child | undefined> {
  try {
    return { name, stat: await lstat(directory.child(name).at) };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function compareChildren(one: Child, other: Child): number {
  return Number(other.stat.isDirectory()) - Number(one.stat.isDirectory()) || Buffer.compare(one.name, other.name);
}

/** A directory that has vanished, or that may not be read, is listed without its children. */
function ignoreUnreachable(error: unknown): undefined {
  const code = errorCode(error);
  if (code !== 'ENOENT' && code !== 'EACCES' && code !== 'ENOTDIR') throw error;
  return undefined;
}
