// What was refused lately, counted, for the people who ask why something does not work.
import type { NetworkRefusal } from '../contract/network-explanations.ts';

/** The last so many different ones. */
const KEPT_MAX = 256;

export class NameRefusals {
  readonly #refusals = new Map<string, NetworkRefusal>();
  #total = 0;

  /** Counts every refused question since the start. */
  get total(): number {
    return this.#total;
  }

  /** True the first time: then it is worth a look at who asked. */
  count(name: string, at: Date): boolean {
    this.#total += 1;
    const known = this.#refusals.get(name);
    this.#refusals.delete(name);
    this.#refusals.set(name, {
      ...(known ?? { kind: 'name', name }),
      count: (known?.count ?? 0) + 1,
      last_at: at.toISOString(),
    });
    if (this.#refusals.size > KEPT_MAX) for (const first of this.#refusals.keys()) return this.#refusals.delete(first);
    return known === undefined;
  }

  /** Who asked last. */
  setProcess(name: string, process: NonNullable<NetworkRefusal['process']>): void {
    const known = this.#refusals.get(name);
    if (known !== undefined) this.#refusals.set(name, { ...known, process });
  }

  /** The last one first. */
  list(): NetworkRefusal[] {
    return [...this.#refusals.values()].reverse();
  }
}
