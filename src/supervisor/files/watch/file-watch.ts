// Everything that one caller watches: directories, with those below them where it wants that, and single files through their directories.
// What the kernel reports within a moment is looked at together, so that both ends of a rename are seen.
import { lstat, stat } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { FileWatchEvent } from '../../../contract/files.ts';
import { errorCode } from '../../../core/error-code.ts';
import { FileError, named } from '../file-error.ts';
import { DirectoryWatch } from './directory-watch.ts';
import { type EntryFact, toChange } from './entry-fact.ts';

/** Directories that one caller may watch. */
const DIRECTORIES_MAX = 10_000;
/** Entries that are remembered for one caller. */
const ENTRIES_MAX = 200_000;
/**
 * The kernel drops what its queue has no room for, and nothing tells of it. Beyond so many names at once everything is looked at.
 */
const FLOOD_NAMES = 4_096;
/** How long names are collected before they are looked at. */
const SETTLE_MS = 20;
/** It waits for the caller after it has told of so many entries. */
const TOLD_AT_ONCE = 256;

export interface FileWatchOptions {
  readonly isRecursive: boolean;
  readonly onEvent: (event: FileWatchEvent) => void;
  /** Resolves when the caller can take more; what happens meanwhile is told of later, once. */
  readonly hasRoom: () => Promise<void>;
  /** The watch has ended. */
  readonly onError: (error: unknown) => void;
  readonly now: () => Date;
}

interface Look {
  readonly directory: DirectoryWatch;
  readonly name: string;
  readonly before: EntryFact | undefined;
  readonly after: EntryFact | undefined;
}

export class FileWatch implements Disposable {
  readonly #options: FileWatchOptions;
  readonly #directories = new Map<string, DirectoryWatch>();
  /** What all directories together remember. */
  #entries = 0;
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isOver = false;

  constructor(options: FileWatchOptions) {
    this.#options = options;
  }

  /** `path` is absolute; a link leads to what is watched. Throws FileError. */
  async add(path: string): Promise<void> {
    const clean = path.length > 1 ? path.replace(/\/+$/, '') : path;
    const found = await named(path, stat(clean));
    if (found.isDirectory()) await this.#watchDirectory(clean);
    else await this.#watchFile(clean);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const directory of this.#directories.values()) directory[Symbol.dispose]();
    this.#directories.clear();
  }

  async #watchFile(path: string): Promise<void> {
    const above = this.#directories.get(dirname(path));
    if (above === undefined) {
      await this.#start(dirname(path), new Set([basename(path)]), false);
    } else if (above.options.only !== undefined) {
      above.options.only.add(basename(path));
      const fact = await above.look(basename(path));
      if (fact !== undefined) above.known.set(basename(path), fact);
    }
  }

  async #watchDirectory(path: string): Promise<DirectoryWatch> {
    const present = this.#directories.get(path);
    if (present !== undefined) {
      if (present.options.only === undefined) return present;
      // All of it now, not single files.
      this.#forgetOne(path, present);
    }
    const directory = await this.#start(path, undefined, this.#options.isRecursive);
    if (this.#options.isRecursive) {
      for (const [name, fact] of directory.known) {
        if (fact.isDir) await this.#watchBelow(directory.pathOf(name));
      }
    }
    return directory;
  }

  /** Undefined for a directory that is gone, or that may not be read. */
  async #watchBelow(path: string): Promise<DirectoryWatch | undefined> {
    try {
      return await this.#watchDirectory(path);
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOTDIR') return undefined;
      throw error;
    }
  }

  async #start(path: string, only: Set<string> | undefined, isRecursive: boolean): Promise<DirectoryWatch> {
    if (this.#directories.size >= DIRECTORIES_MAX) throw tooMany(path, `${DIRECTORIES_MAX} directories`);
    const directory = new DirectoryWatch({ path, only, isRecursive, onDirty: () => this.#soon() });
    this.#directories.set(path, directory);
    try {
      await directory.start();
    } catch (error) {
      this.#directories.delete(path);
      throw error;
    }
    if (this.#isOver) directory[Symbol.dispose]();
    this.#count(directory.known.size, path);
    return directory;
  }

  #count(change: number, path: string): void {
    this.#entries += change;
    if (this.#entries > ENTRIES_MAX) throw tooMany(path, `${ENTRIES_MAX} files`);
  }

  #soon(): void {
    if (this.#timer !== undefined || this.#isLooking || this.#isOver) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isLooking = true;
      this.#lookAround()
        .catch((error: unknown) => this.#fail(error))
        .finally(() => {
          this.#isLooking = false;
        });
    }, SETTLE_MS);
  }

  async #lookAround(): Promise<void> {
    for (;;) {
      const looks = await this.#look();
      if (looks.length === 0 || this.#isOver) return;
      await this.#tell(looks);
      await this.#dropGone();
    }
  }

  async #look(): Promise<Look[]> {
    const reported = [...this.#directories.values()].map((directory) => ({ directory, names: directory.takeDirty() }));
    const count = reported.reduce((sum, { names }) => sum + names.size, 0);
    const looks: Look[] = [];
    for (const { directory, names } of reported) {
      for (const name of count > FLOOD_NAMES ? await directory.readAll(names) : names) {
        if (!directory.isWatched(name)) continue;
        looks.push({ directory, name, before: directory.known.get(name), after: await directory.look(name) });
      }
    }
    return looks;
  }

  async #tell(looks: readonly Look[]): Promise<void> {
    const come = new Set(looks.flatMap(({ before, after }) => (after && before?.ino !== after.ino ? [after.ino] : [])));
    for (const [index, { directory, name, before, after }] of looks.entries()) {
      if (index % TOLD_AT_ONCE === 0) await this.#options.hasRoom();
      const path = directory.pathOf(name);
      const change = toChange(before, after);
      if (after === undefined) directory.known.delete(name);
      else directory.known.set(name, after);
      this.#count(Number(after !== undefined) - Number(before !== undefined), path);
      if (before?.isDir === true && before.ino !== after?.ino) this.#forget(path);
      if (change === undefined) continue;
      const isRenamed = change === 'remove' && before !== undefined && come.has(before.ino);
      this.#emit(path, isRenamed ? 'rename' : change, after ?? before);
      const isNewDirectory = change === 'create' && after?.isDir === true;
      if (isNewDirectory && directory.options.isRecursive) await this.#watchNew(path);
    }
  }

  /** What came into a new directory before it was watched is told of as well. */
  async #watchNew(path: string): Promise<void> {
    const directory = await this.#watchBelow(path);
    if (directory === undefined) return;
    for (const [name, fact] of directory.known) this.#tellAll(directory, name, fact);
  }

  #tellAll(directory: DirectoryWatch, name: string, fact: EntryFact): void {
    const path = directory.pathOf(name);
    this.#emit(path, 'create', fact);
    const below = fact.isDir ? this.#directories.get(path) : undefined;
    if (below !== undefined) for (const [inner, its] of below.known) this.#tellAll(below, inner, its);
  }

  /** A directory that the caller named may itself be deleted or moved. */
  async #dropGone(): Promise<void> {
    for (const [path, directory] of this.#directories) {
      // The directory above tells of it.
      if (this.#directories.has(dirname(path)) && path !== '/') continue;
      const isThere = await lstat(path).then(
        () => true,
        () => false,
      );
      if (isThere || this.#directories.get(path) !== directory) continue;
      this.#forget(path);
      this.#emit(path, 'remove', undefined);
    }
  }

  #forget(path: string): void {
    for (const [each, directory] of this.#directories) {
      if (each === path || each.startsWith(`${path}/`)) this.#forgetOne(each, directory);
    }
  }

  #forgetOne(path: string, directory: DirectoryWatch): void {
    directory[Symbol.dispose]();
    this.#directories.delete(path);
    this.#entries -= directory.known.size;
  }

  #emit(path: string, event: FileWatchEvent['event'], fact: EntryFact | undefined): void {
    if (this.#isOver) return;
    const what = fact === undefined ? {} : { size: fact.size, isDir: fact.isDir };
    this.#options.onEvent({ type: 'event', event, path, timestamp: this.#options.now().toISOString(), ...what });
  }

  #fail(error: unknown): void {
    if (this.#isOver) return;
    this[Symbol.dispose]();
    this.#options.onError(error);
  }
}

function tooMany(path: string, limit: string): FileError {
  return new FileError('E2BIG', path, `one watch has at most ${limit}; watch less, or without recursive`);
}
