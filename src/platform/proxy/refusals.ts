// Machines that refuse what comes to them: after the second time in a row one is left out for a while.

const LEFT_OUT_MS = 10_000;
const REFUSALS_MAX = 2;

export class Refusals {
  readonly #now_ms: () => number;
  readonly #seen = new Map<string, { count: number; at_ms: number }>();

  /** `now_ms`: monotonic. */
  constructor(now_ms: () => number) {
    this.#now_ms = now_ms;
  }

  isLeftOut(machine_id: string): boolean {
    const seen = this.#seen.get(machine_id);
    if (seen === undefined || seen.count < REFUSALS_MAX) return false;
    if (this.#now_ms() - seen.at_ms < LEFT_OUT_MS) return true;
    this.#seen.delete(machine_id);
    return false;
  }

  onRefusal(machine_id: string): void {
    const count = (this.#seen.get(machine_id)?.count ?? 0) + 1;
    this.#seen.set(machine_id, { count, at_ms: this.#now_ms() });
  }

  onAnswer(machine_id: string): void {
    this.#seen.delete(machine_id);
  }
}
