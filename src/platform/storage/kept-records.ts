// Keeps records of the database in memory for as long as nothing in it changes, whichever process would change it. Several owners share
// the room.
import { SharedCache, type SharedCacheOptions } from '../../core/shared-cache.ts';
import type { Storage } from './storage.ts';

export interface RecordPlace {
  readonly owner: string;
  readonly key: string;
}

export class KeptRecords<V> {
  readonly #storage: Pick<Storage, 'version'>;
  readonly #kept: SharedCache<V>;
  #version: number | undefined;

  constructor(storage: Pick<Storage, 'version'>, options: SharedCacheOptions<V>) {
    this.#storage = storage;
    this.#kept = new SharedCache(options);
  }

  /** What is kept, as of the last look of the storage, and of what this process has written since; undefined for what is not kept. */
  get(key: string): V | undefined {
    return this.#isOfNow() ? this.#kept.get(key) : undefined;
  }

  /** Keeps what `read` resolves with, unless something has changed meanwhile. What is not there is not kept. */
  async read(read: () => Promise<V | undefined>, toPlace: (value: V) => RecordPlace): Promise<V | undefined> {
    const { version } = this.#storage;
    const value = await read();
    // What has changed since the last look is seen by the next one. Where one has seen it already, this may be from before.
    if (value !== undefined && this.#isOfNow() && this.#version === version) {
      const { owner, key } = toPlace(value);
      this.#kept.set(owner, key, value);
    }
    return value;
  }

  /** False while nothing may be kept. */
  #isOfNow(): boolean {
    const { version } = this.#storage;
    if (version !== this.#version) this.#kept.clear();
    this.#version = version;
    return version !== undefined;
  }
}
