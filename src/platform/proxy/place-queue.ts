// Requests that wait until another one of the same app is over: bounded, in their order.
import { RemoraError } from '../../core/remora-error.ts';
import { HELD_MAX, HELD_MS } from './machine-ways.ts';

const RETRY_MS = 1_000;

export class PlaceQueue {
  readonly #waiting = new Map<string, Set<() => void>>();

  /** Resolves when a request of the app has ended. Throws `not_reachable` when too many wait or it takes too long, and the reason of `signal`. */
  async wait(app: string, signal: AbortSignal, limit_ms = HELD_MS): Promise<void> {
    const waiting = this.#waiting.get(app) ?? new Set();
    if (waiting.size >= HELD_MAX) throw full();
    this.#waiting.set(app, waiting);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal.reason);
    const late = setTimeout(() => reject(full()), limit_ms);
    waiting.add(resolve);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) onAbort();
    try {
      await promise;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', onAbort);
      waiting.delete(resolve);
      if (waiting.size === 0) this.#waiting.delete(app);
    }
  }

  /** Lets the first one go on. */
  release(app: string): void {
    const [first] = this.#waiting.get(app) ?? [];
    if (first === undefined) return;
    this.#waiting.get(app)?.delete(first);
    first();
  }
}

function full(): RemoraError {
  return new RemoraError('not_reachable', 'all machines of the app are busy; try again', { retryAfter_ms: RETRY_MS });
}
