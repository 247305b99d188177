// Watches the entries of one directory: collects the names that the kernel reports, and knows what each of them was.
import { type FSWatcher, watch } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../../core/error-code.ts';
import { isTemporaryName } from '../actions/temporary-names.ts';
import { FileError, toFileError } from '../file-error.ts';
import { type EntryFact, toEntryFact } from './entry-fact.ts';

const STATS_AT_ONCE = 32;

export interface DirectoryWatchOptions {
  /** Absolute. */
  readonly path: string;
  /** Set when only some of its files are watched. */
  readonly only: Set<string> | undefined;
  readonly isRecursive: boolean;
  /** Something was reported. */
  readonly onDirty: () => void;
}

export class DirectoryWatch implements Disposable {
  readonly options: DirectoryWatchOptions;
  readonly known = new Map<string, EntryFact>();
  #dirty = new Set<string>();
  #watcher: FSWatcher | undefined;

  constructor(options: DirectoryWatchOptions) {
    this.options = options;
  }

  /** Watches from now on, and looks at what is there. Throws FileError. */
  async start(): Promise<void> {
    const { path, onDirty } = this.options;
    try {
      this.#watcher = watch(path, { persistent: false }, (_event, name) => {
        if (typeof name !== 'string' || isTemporaryName(name)) return;
        this.#dirty.add(name);
        onDirty();
      });
      this.#watcher.on('error', () => this[Symbol.dispose]());
      const names = await readdir(path);
      for (let from = 0; from < names.length; from += STATS_AT_ONCE) {
        await Promise.all(names.slice(from, from + STATS_AT_ONCE).map((name) => this.#learn(name)));
      }
    } catch (error) {
      this[Symbol.dispose]();
      throw toWatchError(error, path);
    }
  }

  /** The names that were reported since the last call. */
  takeDirty(): ReadonlySet<string> {
    const dirty = this.#dirty;
    this.#dirty = new Set();
    return dirty;
  }

  /** These names, those that are known, and those that are there. */
  async readAll(names: ReadonlySet<string>): Promise<ReadonlySet<string>> {
    const present = await readdir(this.options.path).catch(() => []);
    return new Set([...names, ...this.known.keys(), ...present]);
  }

  isWatched(name: string): boolean {
    return this.options.only?.has(name) ?? !isTemporaryName(name);
  }

  pathOf(name: string): string {
    return join(this.options.path, name);
  }

  /** Undefined when there is nothing. */
  async look(name: string): Promise<EntryFact | undefined> {
    try {
      return toEntryFact(await lstat(this.pathOf(name)));
    } catch (error) {
      const code = errorCode(error);
      if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'EACCES') return undefined;
      throw toFileError(error, this.pathOf(name));
    }
  }

  [Symbol.dispose](): void {
    this.#watcher?.close();
  }

  async #learn(name: string): Promise<void> {
    const fact = this.isWatched(name) ? await this.look(name) : undefined;
    if (fact !== undefined) this.known.set(name, fact);
  }
}

function toWatchError(error: unknown, path: string): unknown {
  const code = errorCode(error);
  // The kernel counts watches; the words for this code are about disks.
  if (code === 'ENOSPC') {
    return new FileError('EMFILE', path, 'the kernel allows no more watches (fs.inotify.max_user_watches); watch less');
  }
  if (code === 'EMFILE') {
    return new FileError(code, path, 'the kernel allows no more watchers (fs.inotify.max_user_instances)');
  }
  return toFileError(error, path);
}
