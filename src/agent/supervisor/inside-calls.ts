// The calls from outside that reach into this machine and are work: a machine with open ones is not idle.

export class InsideCalls {
  readonly #open = new Map<string, number>();
  #total = 0;

  /** Calls and connections in flight, by operation or port. */
  get open(): ReadonlyMap<string, number> {
    return this.#open;
  }

  /** Counts every call since the start. */
  get total(): number {
    return this.#total;
  }

  /** Counts the call until its disposal. */
  begin(owner: string): Disposable {
    this.#total += 1;
    this.#open.set(owner, (this.#open.get(owner) ?? 0) + 1);
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        const left = (this.#open.get(owner) ?? 1) - 1;
        if (left > 0) this.#open.set(owner, left);
        else this.#open.delete(owner);
      },
    };
  }
}
