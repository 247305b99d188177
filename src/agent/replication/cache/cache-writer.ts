// Writes changes to the cache in batches. While the cache cannot be written, it says so, tries again, and afterwards records as a
// gap what was not saved. Answers come from memory in any case.
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import { withDeadline } from '../../../core/with-deadline.ts';
import type { ReplicaEntry } from '../replica.ts';
import { type CacheBatch, createBatchBuilder } from './cache-batch.ts';
import type { CacheChange, FactName } from './cache-change.ts';
import type { CacheAnswer, CacheLink, CacheRequest, HistoryStart, OpenedAnswer } from './cache-request.ts';
import { type HistoryPage, type StreamPage, toHistoryPage, toStreamPage } from './cached-page.ts';
import { createDiskQueue } from './disk-queue.ts';
import { toUnsavedChanges } from './unsaved-changes.ts';

/** How many rows of history are kept in all; the oldest batch is dropped first. */
export const HISTORY_CAP = 100_000;
const BATCH_CAP = 1_000;
const BATCH_MS = 25;
const RETRY_MS = 5_000;
/** A batch that takes this long is shown as slow. */
const SLOW_MS = 1_000;
const OPEN_MS = 3_000;
const READ_MS = 5_000;
const CLOSE_MS = 2_000;

/** `file`, `rebuilt`: stored. `memory`: stored until the process ends. `failed`: not stored; positions are in memory only. */
export interface CacheCondition {
  readonly state: 'file' | 'rebuilt' | 'memory' | 'failed';
  readonly reason: string | undefined;
}

export interface CacheWriterOptions {
  readonly clock: Clock;
  readonly link: CacheLink;
  /** The current positions, to catch up after a failure. */
  readonly current: () => ReadonlyMap<string, ReplicaEntry>;
  /** Called once, with the positions of an earlier run, when the file could be read. */
  readonly onRestored: (positions: ReadonlyMap<string, ReplicaEntry>) => void;
  readonly onCondition: (condition: CacheCondition) => void;
  readonly retry_ms?: number;
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
  const { clock, link } = options;
  const historyCap = options.historyCap ?? HISTORY_CAP;
  const batchCap = Math.max(1, Math.min(BATCH_CAP, Math.floor(historyCap / 4)));
  const facts = new Map<FactName, string>();
  const builder = createBatchBuilder();
  const queue = createDiskQueue({
    clock,
    onStall: () => setCondition('failed', 'the disk of replication.db does not answer'),
  });
  let condition: CacheCondition = { state: 'failed', reason: 'replication.db is not open yet' };
  let opened: Pick<OpenedAnswer, 'state' | 'reason'> | undefined;
  let saved = new Map<string, ReplicaEntry>();
  /** Set after a failed or dropped write. No batch is sent until `catchUp` has written the current state. */
  let isBehind = true;
  let mustClear = false;
  let isRestored = false;
  /** Set while the file is being opened; changes wait until then. */
  let opening: Promise<void> | undefined;
  let flushTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;
  let isOver = false;

  function setCondition(state: CacheCondition['state'], reason: string | undefined): void {
    if (state === 'failed' || state === 'memory') retryLater();
    if (condition.state === state && condition.reason === reason) return;
    condition = { state, reason };
    options.onCondition(condition);
  }

  function fallBehind(why: string): void {
    isBehind = true;
    mustClear ||= builder.clears;
    builder.drain();
    setCondition('failed', `replication.db cannot be written (${why}); positions live in memory only`);
  }

  async function ask<T extends CacheAnswer['type']>(
    request: CacheRequest,
    type: T,
  ): Promise<Extract<CacheAnswer, { type: T }>> {
    const answer = await link.ask(request);
    if (isType(answer, type)) return answer;
    if (answer.type !== 'failed') throw new Error(`${request.type} was answered with ${answer.type}`);
    if (!answer.isOpen) opened = undefined;
    throw new Error(answer.message);
  }

  async function open(): Promise<void> {
    let answer: OpenedAnswer;
    try {
      answer = await ask({ type: 'open' }, 'opened');
    } catch (error) {
      opened = undefined;
      fallBehind(toErrorMessage(error));
      return;
    }
    if (answer.isKept) return retryLater();
    opened = answer;
    saved = new Map(answer.positions);
    builder.last_seq = answer.last_seq;
    for (const [name, value] of answer.facts) if (!facts.has(name)) facts.set(name, value);
    if (!isRestored && answer.state !== 'memory') {
      isRestored = true;
      options.onRestored(saved);
    }
    catchUp();
  }

  /** Writes all current state that is not stored. Transactions that were seen meanwhile and have no row become a gap. */
  function catchUp(): void {
    mustClear ||= builder.clears;
    builder.drain();
    const now = { saved, current: options.current(), facts, mustClear, now_ms: clock.wall_ms() };
    for (const change of toUnsavedChanges(now)) builder.add(change);
    const batch = builder.drain();
    isBehind = false;
    mustClear = false;
    if (batch !== undefined) void commit(batch, true);
    else if (opened !== undefined) setCondition(opened.state, opened.reason);
  }

  async function commit(batch: CacheBatch, repairs = false): Promise<void> {
    const done = queue.enter(batch.rows);
    try {
      const { ms } = await ask({ type: 'commit', batch, keep: historyCap, repairs }, 'done');
      if (batch.clear) saved.clear();
      for (const [db, entry] of batch.positions) saved.set(db, entry);
      if (opened === undefined || isBehind) return;
      const slow = ms < SLOW_MS ? undefined : `the last write to replication.db took ${Math.round(ms)} ms`;
      setCondition(opened.state, opened.reason ?? slow);
    } catch (error) {
      mustClear ||= batch.clear;
      fallBehind(toErrorMessage(error));
    } finally {
      done();
      if (isBehind && queue.isEmpty && opened !== undefined && opening === undefined)
        retryLater(queue.wasFull ? 0 : undefined);
    }
  }

  function send(): void {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (isBehind || opening !== undefined) return;
    const batch = builder.drain();
    if (batch !== undefined) void commit(batch);
  }

  function retryLater(ms = options.retry_ms ?? RETRY_MS): void {
    clearTimeout(retryTimer);
    if (isOver) return;
    retryTimer = setTimeout(retry, ms);
    retryTimer.unref();
  }

  function retry(): void {
    if (!queue.isEmpty || opening !== undefined) return;
    if (opened !== undefined && opened.state !== 'memory') {
      if (isBehind) catchUp();
      return;
    }
    send();
    opening = open().finally(() => {
      opening = undefined;
      send();
    });
  }

  async function read<T extends 'history' | 'stream', V>(
    request: CacheRequest & { readonly type: T },
    toValue: (answer: Extract<CacheAnswer, { type: T }>) => V,
  ): Promise<V | undefined> {
    await opening;
    send();
    if (opened === undefined) return undefined;
    try {
      return toValue(await withDeadline(READ_MS, ask(request, request.type)));
    } catch (error) {
      if (opened === undefined) fallBehind(toErrorMessage(error));
      return undefined;
    }
  }

  async function flush(): Promise<void> {
    await opening;
    send();
    await queue.emptied();
  }

  opening = open().finally(() => {
    opening = undefined;
    send();
  });
  await withDeadline(OPEN_MS, opening).catch(() => undefined);
  return {
    fact: (name) => facts.get(name),
    add(changes) {
      for (const change of changes) {
        if (change.type === 'fact') facts.set(change.name, change.value);
        if (change.type === 'clear' && isBehind) mustClear = true;
      }
      if (isBehind) return undefined;
      const before = builder.last_seq;
      for (const change of changes) builder.add(change);
      const { last_seq } = builder;
      if (queue.isFull(builder.rows)) {
        fallBehind('the disk does not keep up');
        return undefined;
      }
      if (builder.rows >= batchCap) send();
      else flushTimer ??= setTimeout(send, BATCH_MS).unref();
      return last_seq > before ? last_seq : undefined;
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
      return condition;
    },
    get last_seq() {
      return builder.last_seq;
    },
    async [Symbol.asyncDispose]() {
      isOver = true;
      clearTimeout(retryTimer);
      await withDeadline(CLOSE_MS, flush()).catch(() => undefined);
      await link[Symbol.asyncDispose]();
      queue[Symbol.dispose]();
    },
  };
}

function isType<T extends CacheAnswer['type']>(
  answer: CacheAnswer,
  type: T,
): answer is Extract<CacheAnswer, { type: T }> {
  return answer.type === type;
}
