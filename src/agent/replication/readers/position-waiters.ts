// Callers that wait for a transaction, sorted by its id for each database: a transaction that nobody waits for costs one
// comparison, however many callers wait for later ones. Of many that are to be answered at once, some are in each turn of the loop.
import { createPacedCalls } from '../../../core/paced-calls.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { ReplicaEntry } from '../replica.ts';

export const WAITER_CAP = 10_000;
/** An answer takes about 50 microseconds. */
const ANSWERS_PER_TURN = 32;

interface Waiter {
  readonly txID: string;
  readonly resolve: (entry: ReplicaEntry) => void;
  readonly reject: (error: RemoraError) => void;
}

export interface PositionWaiters {
  /**
   * Resolves to the entry that `reached` passed with this id or a later one. Throws `timeout` (also when `signal` aborts because
   * the caller went away), `too_many_requests` and `shutting_down`.
   */
  wait(db: string, txID: string, timeout_ms: number, signal: AbortSignal): Promise<ReplicaEntry>;
  reached(db: string, entry: ReplicaEntry): void;
  /** Rejects all waiters, and later ones, with `shutting_down`. */
  close(): void;
  readonly size: number;
}

export function createPositionWaiters(): PositionWaiters {
  /** Each list is sorted with the earliest id last, so that waiters whose id was reached are popped. */
  const lists = new Map<string, Waiter[]>();
  const answers = createPacedCalls(ANSWERS_PER_TURN);
  let size = 0;
  let closed = false;

  function add(db: string, waiter: Waiter): void {
    const list = lists.get(db) ?? [];
    lists.set(db, list);
    list.splice(indexFor(list, waiter.txID), 0, waiter);
    size += 1;
  }

  function remove(db: string, waiter: Waiter): void {
    const list = lists.get(db);
    const index = list?.indexOf(waiter, indexFor(list, waiter.txID)) ?? -1;
    if (list === undefined || index < 0) return;
    list.splice(index, 1);
    if (list.length === 0) lists.delete(db);
    size -= 1;
  }

  return {
    async wait(db, txID, timeout_ms, signal) {
      if (closed) throw stopping();
      if (size >= WAITER_CAP) {
        throw new RemoraError('too_many_requests', `${WAITER_CAP} callers are waiting already`, {
          retryAfter_ms: 1_000,
        });
      }
      const done = Promise.withResolvers<ReplicaEntry>();
      const waiter: Waiter = { txID, resolve: done.resolve, reject: done.reject };
      const late = () => {
        const error = new RemoraError('timeout', `transaction ${txID} of ${db} has not arrived in time`);
        answers.add(1, () => done.reject(error));
      };
      const gone = () => done.reject(new RemoraError('timeout', 'the caller went away'));
      const timer = setTimeout(late, timeout_ms);
      if (signal.aborted) gone();
      else signal.addEventListener('abort', gone, { once: true });
      add(db, waiter);
      try {
        return await done.promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', gone);
        remove(db, waiter);
      }
    },
    reached(db, entry) {
      const list = lists.get(db);
      if (list === undefined) return;
      const { txID } = entry.transaction;
      for (let next = list.at(-1); next !== undefined && next.txID <= txID; next = list.at(-1)) {
        list.pop();
        size -= 1;
        const { resolve } = next;
        answers.add(1, () => resolve(entry));
      }
      if (list.length === 0) lists.delete(db);
    },
    close() {
      closed = true;
      for (const list of lists.values()) for (const waiter of list) waiter.reject(stopping());
    },
    get size() {
      return size;
    },
  };
}

/** Where to insert an id into a descending list: after every later id, before every equal one. */
function indexFor(list: readonly Waiter[], txID: string): number {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const at = list[middle];
    if (at !== undefined && at.txID > txID) low = middle + 1;
    else high = middle;
  }
  return low;
}

function stopping(): RemoraError {
  return new RemoraError('shutting_down', 'the daemon is stopping; try again', { retryAfter_ms: 1_000 });
}
