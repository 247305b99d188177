// What is open at the same time, where much begins and ends: an array in which each item knows its place. A Set makes a new table after so many
// items, and its old table leads to the new one and to all that was open then: once one is old, the collection of young objects keeps them all.

export interface Listed {
  /** The place in its list; -1 while it is in none. Only the list sets it. */
  place: number;
}

/** Its items have no order. */
export class OpenList<T extends Listed> {
  readonly #items: T[] = [];

  add(item: T): void {
    if (item.place >= 0) return;
    item.place = this.#items.length;
    this.#items.push(item);
  }

  delete(item: T): void {
    const { place } = item;
    const last = this.#items.at(-1);
    if (last === undefined || this.#items[place] !== item) return;
    this.#items.pop();
    item.place = -1;
    if (last === item) return;
    this.#items[place] = last;
    last.place = place;
  }

  /** Those that are open now: the result does not change. */
  all(): readonly T[] {
    return [...this.#items];
  }
}
