// What of the cache is stored, what waits to be stored, and whether something is missing between the two. Pure.
import type { ReplicaEntry } from '../replica.ts';
import { type CacheBatch, createBatchBuilder } from './cache-batch.ts';
import type { CacheChange, FactName } from './cache-change.ts';
import type { OpenedAnswer } from './cache-request.ts';
import { toCatchUpChanges } from './catch-up-changes.ts';

export interface CacheLedger {
  /** Takes changes that belong together. Returns the number of the last row they made; undefined when they made none. */
  add(changes: readonly CacheChange[]): number | undefined;
  /** Takes the changes that wait as one batch; undefined when there are none. */
  take(): CacheBatch | undefined;
  /** Drops what waits, and what is added later, until `catchUp`: a batch before it was not stored. */
  fallBehind(): void;
  /** Takes all current state that is not stored. Transactions that were seen meanwhile and have no row become a gap. */
  catchUp(current: ReadonlyMap<string, ReplicaEntry>, now_ms: number): CacheBatch | undefined;
  committed(batch: CacheBatch): void;
  failed(batch: CacheBatch): void;
  /** Takes what the file holds; returns its positions. */
  opened(answer: OpenedAnswer): ReadonlyMap<string, ReplicaEntry>;
  fact(name: FactName): string | undefined;
  /** True from the beginning, and after `fallBehind`, until `catchUp`. */
  readonly isBehind: boolean;
  /** Number of rows that wait. */
  readonly rows: number;
  /** The number of the newest row. */
  readonly last_seq: number;
}

export function createCacheLedger(): CacheLedger {
  const builder = createBatchBuilder();
  const facts = new Map<FactName, string>();
  let saved = new Map<string, ReplicaEntry>();
  let isBehind = true;
  /** True when the cluster changed and the rows of the old one are still stored. */
  let mustClear = false;

  function drop(): void {
    mustClear ||= builder.clears;
    builder.drain();
  }

  return {
    add(changes) {
      for (const change of changes) {
        if (change.type === 'fact') facts.set(change.name, change.value);
        if (change.type === 'clear' && isBehind) mustClear = true;
      }
      if (isBehind) return undefined;
      const before = builder.last_seq;
      for (const change of changes) builder.add(change);
      return builder.last_seq > before ? builder.last_seq : undefined;
    },
    take: () => builder.drain(),
    fallBehind() {
      isBehind = true;
      drop();
    },
    catchUp(current, now_ms) {
      drop();
      for (const change of toCatchUpChanges({ saved, current, facts, mustClear, now_ms })) builder.add(change);
      isBehind = false;
      mustClear = false;
      return builder.drain();
    },
    committed(batch) {
      if (batch.clear) saved.clear();
      for (const [db, entry] of batch.positions) saved.set(db, entry);
    },
    failed(batch) {
      mustClear ||= batch.clear;
    },
    opened(answer) {
      saved = new Map(answer.positions);
      builder.last_seq = answer.last_seq;
      for (const [name, value] of answer.facts) if (!facts.has(name)) facts.set(name, value);
      return saved;
    },
    fact: (name) => facts.get(name),
    get isBehind() {
      return isBehind;
    },
    get rows() {
      return builder.rows;
    },
    get last_seq() {
      return builder.last_seq;
    },
  };
}
