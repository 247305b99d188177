// A bounded cache that several owners share: when it is full, the owner that takes up most of it loses its oldest entries, so that none
// pushes out what the others need. Pure.

export interface SharedCacheOptions<V> {
  /** The most that all entries may take together, in the unit of `sizeOf`. */
  readonly max: number;
  readonly sizeOf: (value: V) => number;
}

interface Entry<V> {
  readonly owner: string;
  readonly value: V;
  readonly size: number;
}

/** An owner with less than this share of the cache is not worth a look at all entries: then all of them go. */
const WORTH = 1 / 64;

export class SharedCache<V> {
  readonly #options: SharedCacheOptions<V>;
  readonly #entries = new Map<string, Entry<V>>();
  /** What the entries of each owner take. */
  readonly #owners = new Map<string, number>();
  #size = 0;

  constructor(options: SharedCacheOptions<V>) {
    this.#options = options;
  }

  get(key: string): V | undefined {
    return this.#entries.get(key)?.value;
  }

  /** Not kept when it would take up more than an eighth of the cache by itself. */
  set(owner: string, key: string, value: V): void {
    const { max, sizeOf } = this.#options;
    this.#delete(key);
    const size = sizeOf(value);
    if (size > max / 8) return;
    if (this.#size + size > max) this.#makeRoom(max);
    this.#entries.set(key, { owner, value, size });
    this.#add(owner, size);
  }

  clear(): void {
    this.#entries.clear();
    this.#owners.clear();
    this.#size = 0;
  }

  /** Halves what the largest owner takes. */
  #makeRoom(max: number): void {
    let largest = '';
    let size = 0;
    for (const [owner, each] of this.#owners) {
      if (each <= size) continue;
      largest = owner;
      size = each;
    }
    if (size < max * WORTH) {
      this.clear();
      return;
    }
    for (const [key, { owner }] of this.#entries) {
      if (owner === largest) this.#delete(key);
      if ((this.#owners.get(largest) ?? 0) <= size / 2) return;
    }
  }

  #delete(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#add(entry.owner, -entry.size);
  }

  #add(owner: string, size: number): void {
    const now = (this.#owners.get(owner) ?? 0) + size;
    if (now > 0) this.#owners.set(owner, now);
    else this.#owners.delete(owner);
    this.#size += size;
  }
}
