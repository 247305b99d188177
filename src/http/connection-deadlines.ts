// The deadlines of the connections of one client, with one timer for all of them.
import type { PlainConnection } from './plain-connection.ts';

const TIMER_MAX_MS = 2 ** 31 - 1;

export class ConnectionDeadlines {
  readonly #connections: Iterable<PlainConnection>;
  #timer: NodeJS.Timeout | undefined;
  #timer_ms = Number.POSITIVE_INFINITY;
  #isStopped = false;

  /** `connections`: those that are open, at any time. */
  constructor(connections: Iterable<PlainConnection>) {
    this.#connections = connections;
  }

  /** One of them has this deadline now. */
  add(due_ms: number): void {
    if (due_ms >= this.#timer_ms || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer_ms = due_ms;
    const wait_ms = Math.min(Math.max(1, Math.ceil(due_ms - performance.now())), TIMER_MAX_MS);
    this.#timer = setTimeout(this.#onTimer, wait_ms).unref();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  readonly #onTimer = (): void => {
    this.#timer_ms = Number.POSITIVE_INFINITY;
    const now_ms = performance.now();
    let next_ms = Number.POSITIVE_INFINITY;
    for (const connection of [...this.#connections]) {
      if (connection.due_ms <= now_ms) connection.onLate();
      if (!connection.isGone) next_ms = Math.min(next_ms, connection.due_ms);
    }
    this.add(next_ms);
  };
}
