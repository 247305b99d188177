// Brings changes into the cache in batches, and lives with a cache that cannot be written: it says so, tries again, and
// records as a gap what was not saved meanwhile. Memory goes on answering in any case.
import type { Clock } from '../../core/clock.ts';
import type { OpenedDatabase } from '../../sqlite/open.ts';
import type { ReplicaEntry } from './replica.ts';
import { type CacheChange, createReplicationCache, type FactName, type ReplicationCache } from './replication-cache.ts';
import { toUnsavedChanges } from './unsaved-changes.ts';

const BATCH_CAP = 500;
const BATCH_MS = 25;
const RETRY_MS = 5_000;
/** A batch that takes this long is worth a word: the disk is in trouble. */
const SLOW_MS = 1_000;

/** `file`, `rebuilt`: kept. `memory`: only until the process ends. `failed`: not written; memory alone answers. */
export interface CacheCondition {
  readonly state: 'file' | 'rebuilt' | 'memory' | 'failed';
  readonly reason: string | undefined;
}

export interface CacheWriterOptions {
  readonly clock: Clock;
  /** Opens the file; does not throw where memory can stand in (openDatabaseOrMemory). */
  readonly open: () => OpenedDatabase;
  /** What is true now, for catching up after a failure. */
  readonly current: () => ReadonlyMap<string, ReplicaEntry>;
  readonly onCondition: (condition: CacheCondition) => void;
  readonly retry_ms?: number;
  readonly historyCap?: number;
}

export interface CacheWriter extends Disposable {
  /** What an earlier run left. */
  positions(): ReadonlyMap<string, ReplicaEntry>;
  fact(name: FactName): string | undefined;
  /** Takes changes that belong together: they are committed in one transaction. */
  add(changes: readonly CacheChange[]): void;
  /** Commits what is waiting, now. A failure becomes the condition. */
  flush(): void;
  /** What the cache answers, with everything waiting committed first; undefined when it cannot be read. */
  read<T>(from: (cache: ReplicationCache) => T): T | undefined;
  /** Moves the write-ahead log into the file, so that a snapshot holds a small, complete database. */
  checkpoint(): void;
  readonly condition: CacheCondition;
}

export function openCacheWriter(options: CacheWriterOptions): CacheWriter {
  const { clock } = options;
  const facts = new Map<FactName, string>();
  let condition: CacheCondition = { state: 'failed', reason: 'not open yet' };
  let cache: ReplicationCache | undefined;
  let opened: OpenedDatabase | undefined;
  let saved = new Map<string, ReplicaEntry>();
  let mustClear = false;
  let queue: CacheChange[] = [];
  let flushTimer: NodeJS.Timeout | undefined;
  let retryTimer: NodeJS.Timeout | undefined;

  function say(state: CacheCondition['state'], reason: string | undefined): void {
    if (state === 'failed' || state === 'memory') retryLater();
    if (condition.state === state && condition.reason === reason) return;
    condition = { state, reason };
    options.onCondition(condition);
  }

  /** Memory that already stands in is kept until a file can be had. */
  function open(): void {
    const next = options.open();
    if (next.state === 'memory' && cache !== undefined) {
      next.db.close();
      retryLater();
      return;
    }
    close();
    opened = next;
    try {
      cache = createReplicationCache(next.db, options.historyCap);
      saved = cache.positions();
      say(next.state, next.reason);
    } catch (error) {
      if (cache === undefined) next.db.close();
      close();
      say('failed', `replication.db cannot be used (${toText(error)})`);
    }
  }

  function close(): void {
    cache?.[Symbol.dispose]();
    cache = undefined;
    opened = undefined;
  }

  function commit(changes: readonly CacheChange[]): void {
    if (cache === undefined || opened === undefined) return;
    const start_ms = clock.mono_ms();
    try {
      cache.commit(changes);
    } catch (error) {
      mustClear ||= changes.some((change) => change.type === 'clear');
      if (!mayHeal(error)) close();
      say('failed', `replication.db cannot be written (${toText(error)}); positions live in memory only`);
      return;
    }
    for (const change of changes) remember(change);
    mustClear = false;
    const took_ms = Math.round(clock.mono_ms() - start_ms);
    const slow = took_ms < SLOW_MS ? undefined : `the last write to replication.db took ${took_ms} ms`;
    say(opened.state, opened.reason ?? slow);
  }

  function remember(change: CacheChange): void {
    if (change.type === 'clear') saved.clear();
    else if (change.type === 'tx' || change.type === 'position') saved.set(change.db, change.entry);
  }

  function flush(): void {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    if (queue.length === 0) return;
    const changes = queue;
    queue = [];
    commit(changes);
  }

  function retryLater(): void {
    clearTimeout(retryTimer);
    retryTimer = setTimeout(retry, options.retry_ms ?? RETRY_MS);
    retryTimer.unref();
  }

  /** Writes everything that is true and not saved. What lay between is a gap: it was seen, and is in no row. */
  function retry(): void {
    flush();
    const before = cache;
    if (cache === undefined || condition.state === 'memory') open();
    if (cache === before && condition.state === 'memory') return;
    commit(toUnsavedChanges({ saved, current: options.current(), facts, mustClear, now_ms: clock.wall_ms() }));
  }

  function read<T>(from: (cache: ReplicationCache) => T): T | undefined {
    flush();
    try {
      return cache === undefined ? undefined : from(cache);
    } catch (error) {
      close();
      say('failed', `replication.db cannot be read (${toText(error)}); positions live in memory only`);
      return undefined;
    }
  }

  open();
  return {
    positions: () => new Map(saved),
    fact: (name) => facts.get(name) ?? read((open) => open.fact(name)),
    add(changes) {
      for (const change of changes) {
        if (change.type === 'fact') facts.set(change.name, change.value);
        if (change.type === 'clear' && condition.state === 'failed') mustClear = true;
      }
      if (condition.state === 'failed') return;
      queue.push(...changes);
      if (queue.length >= BATCH_CAP) flush();
      else flushTimer ??= setTimeout(flush, BATCH_MS).unref();
    },
    flush,
    read,
    checkpoint() {
      flush();
      try {
        cache?.checkpoint();
      } catch (error) {
        say('failed', `replication.db cannot be written (${toText(error)}); positions live in memory only`);
      }
    },
    get condition() {
      return condition;
    },
    [Symbol.dispose]() {
      flush();
      clearTimeout(retryTimer);
      close();
    },
  };
}

/** A full disk and a busy file can get better under the same handle; whatever else it is, the file is opened anew. */
function mayHeal(error: unknown): boolean {
  return error instanceof Error && 'code' in error && /^SQLITE_(?:FULL|BUSY)/.test(String(error.code));
}

function toText(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
