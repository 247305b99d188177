// Answers of the database that hold for a moment. Only what was found is kept: what is not there may be there right after.

const ANSWERS_KEPT = 10_000;

export class KeptAnswers<T> {
  readonly #kept_ms: number;
  readonly #now_ms: () => number;
  readonly #answers = new Map<string, { readonly value: T; readonly until_ms: number }>();

  /** `now_ms`: monotonic. */
  constructor(kept_ms: number, now_ms: () => number) {
    this.#kept_ms = kept_ms;
    this.#now_ms = now_ms;
  }

  get(key: string): T | undefined {
    const answer = this.#answers.get(key);
    return answer !== undefined && answer.until_ms > this.#now_ms() ? answer.value : undefined;
  }

  keep(key: string, value: T): void {
    this.#answers.delete(key);
    this.#answers.set(key, { value, until_ms: this.#now_ms() + this.#kept_ms });
    const [oldest] = this.#answers.keys();
    if (this.#answers.size > ANSWERS_KEPT && oldest !== undefined) this.#answers.delete(oldest);
  }
}
