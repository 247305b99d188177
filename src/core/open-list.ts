// What is open at the same time, where much begins and ends: an array in which each item knows its place. A Set makes a new table after so many
// items, and its old table leads to the new one and to all that was open then: once one is old, the collection of young objects keeps them all.

export interface Listed {
  /** The place in its list; -1 while it is in none. Only the list sets it. */
  place: number;
}

/** Its items have no order. */
export class OpenList<T extends Listed> {
  readonly #items: T[] = [];

  get size(): number {
    return this.#items.length;
  }

  has(item: T): boolean {
    return this.#items[item.place] === item;
  }

  add(item: T): void {
    if (item.place >= 0) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  /** False when it is in this list no more. */
  delete(item: T): boolean {
    const { place } = item;
    if (this.#items[place] !== item) return false;
    const last = this.#items.pop();
    item.place = -1;
    if (last === undefined || last === item) return true;
    this.#items[place] = last;
    last.place = place;
    return true;
  }

  /** Those that are open now: the result does not change. */
  all(): readonly T[] {
    return [...this.#items];
  }
}
