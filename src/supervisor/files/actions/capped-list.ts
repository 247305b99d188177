// What an action reports: as many items as an answer may have, and the number of all.

const ITEMS_MAX = 100_000;

export class CappedList<T> {
  readonly items: T[] = [];
  count = 0;

  add(item: T): void {
    this.count += 1;
    if (this.items.length < ITEMS_MAX) this.items.push(item);
  }
}
