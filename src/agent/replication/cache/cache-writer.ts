// Writes changes to the cache in batches, and reads its history. While the cache cannot be written, it says so, and afterwards
// records as a gap what was not saved. Answers come from memory in any case.
import { toErrorMessage } from '../../../core/error-message.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import type { CacheChange, FactName } from './cache-change.ts';
import { type CacheCondition, type CacheKeeperOptions, createCacheKeeper } from './cache-keeper.ts';
import { createCacheLedger } from './cache-ledger.ts';
import type { CacheAnswer, CacheRequest, HistoryStart } from './cache-request.ts';
import { type HistoryPage, type StreamPage, toHistoryPage, toStreamPage } from './cached-page.ts';

/** How many rows of history are kept in all; the oldest batch is dropped first. */
export const HISTORY_CAP = 100_000;
const BATCH_CAP = 1_000;
const OPEN_MS = 3_000;
const READ_MS = 5_000;
const CLOSE_MS = 2_000;

export interface CacheWriterOptions extends CacheKeeperOptions {
  readonly historyCap?: number;
}

export interface CacheWriter extends AsyncDisposable {
  fact(name: FactName): string | undefined;
  /**
   * Takes changes that belong together: they are committed in one transaction. Returns the number of the last row they made;
   * undefined when they made none, or the file cannot be written.
   */
  add(changes: readonly CacheChange[]): number | undefined;
  /** Resolves when everything added so far is committed, or the condition says why it is not. */
  flush(): Promise<void>;
  /** Reads history with everything added so far; undefined when it cannot be read. */
  history(db: string, start: HistoryStart, limit: number): Promise<HistoryPage | undefined>;
  stream(after: number, limit: number): Promise<StreamPage | undefined>;
  /** Writes everything and ends the thread, before the machine is suspended. Never rejects. */
  rest(): Promise<void>;
  /** A promise while too many rows wait for the disk: resolves when fewer wait, or when the disk has stalled. Else undefined. */
  drained(): Promise<void> | undefined;
  readonly condition: CacheCondition;
  /** The number of the newest row. */
  readonly last_seq: number;
}

/** Resolves when the file is open, or after three seconds without it. */
export async function openCacheWriter(options: CacheWriterOptions): Promise<CacheWriter> {
  const { historyCap = HISTORY_CAP, link } = options;
  const batchCap = Math.max(1, Math.min(BATCH_CAP, Math.floor(historyCap / 4)));
  const ledger = createCacheLedger();
  const keeper = createCacheKeeper(ledger, historyCap, options);
  const { queue } = keeper;

  async function read<T extends 'history' | 'stream', V>(
    request: CacheRequest & { readonly type: T },
    toValue: (answer: Extract<CacheAnswer, { type: T }>) => Promise<V>,
  ): Promise<V | undefined> {
    await keeper.opening;
    keeper.send();
    if (!keeper.isOpen) return undefined;
    try {
      return await toValue(await withDeadline(READ_MS, keeper.ask(request, request.type)));
    } catch (error) {
      if (!keeper.isOpen) keeper.fallBehind(toErrorMessage(error));
      return undefined;
    }
  }

  async function flush(): Promise<void> {
    await keeper.opening;
    keeper.send();
    await queue.emptied();
  }

  await withDeadline(OPEN_MS, keeper.open()).catch(() => undefined);
  return {
    fact: (name) => ledger.fact(name),
    add(changes) {
      const seq = ledger.add(changes);
      if (ledger.isBehind) return undefined;
      if (queue.isFull(ledger.rows)) {
        keeper.fallBehind('the disk does not keep up');
        return undefined;
      }
      if (ledger.rows >= batchCap) keeper.send();
      else keeper.sendSoon();
      return seq;
    },
    flush,
    history: (db, start, limit) => read({ type: 'history', db, start, limit }, toHistoryPage),
    stream: (after, limit) => read({ type: 'stream', after, limit }, toStreamPage),
    async rest() {
      await flush();
      await link.rest();
    },
    drained: () => queue.drained(),
    get condition() {
      return keeper.condition;
    },
    get last_seq() {
      return ledger.last_seq;
    },
    async [Symbol.asyncDispose]() {
      keeper[Symbol.dispose]();
      await withDeadline(CLOSE_MS, flush()).catch(() => undefined);
      await link[Symbol.asyncDispose]();
      queue[Symbol.dispose]();
    },
  };
}
