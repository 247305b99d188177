// Gathers changes into a batch, which is one transaction of the file. Pure.

import type { ReplicaEntry } from '../replica.ts';
import type { CacheChange, FactName } from './cache-change.ts';
import { toRowText } from './history-text.ts';

/** The rows of one database in one batch. */
export interface Segment {
  readonly db: string;
  readonly last_seq: number;
  readonly last_tx: string;
  readonly min_tx: string;
  readonly max_tx: string;
  readonly rows: string;
}

export interface CacheBatch {
  /** True when all stored rows belong to another cluster: they are deleted before the batch is written. */
  readonly clear: boolean;
  readonly facts: readonly (readonly [FactName, string])[];
  readonly positions: ReadonlyMap<string, ReplicaEntry>;
  readonly segments: readonly Segment[];
  /** Number of rows in the segments. */
  readonly rows: number;
  /** The number of the newest row, in this batch or before it. */
  readonly last_seq: number;
}

export interface BatchBuilder {
  add(change: CacheChange): void;
  /** Takes the changes added since the last call; undefined when there are none. */
  drain(): CacheBatch | undefined;
  /** Number of rows that wait. */
  readonly rows: number;
  readonly clears: boolean;
  /** The number of the newest row; the next row gets the number after it. */
  last_seq: number;
}

interface OpenSegment {
  last_seq: number;
  last_tx: string;
  min_tx: string;
  max_tx: string;
  rows: string;
}

export function createBatchBuilder(): BatchBuilder {
  let clears = false;
  let facts = new Map<FactName, string>();
  let positions = new Map<string, ReplicaEntry>();
  let segments = new Map<string, OpenSegment>();
  let rows = 0;
  let last_seq = 0;

  function addRow(change: Extract<CacheChange, { type: 'tx' | 'gap' }>): void {
    rows += 1;
    last_seq += 1;
    const tx = change.type === 'tx' ? change.entry.transaction.txID : change.missed.to;
    const text = toRowText(change, last_seq);
    const open = segments.get(change.db);
    if (open === undefined) {
      segments.set(change.db, { last_seq, last_tx: tx, min_tx: tx, max_tx: tx, rows: text });
      return;
    }
    open.last_seq = last_seq;
    open.last_tx = tx;
    if (tx < open.min_tx) open.min_tx = tx;
    if (tx > open.max_tx) open.max_tx = tx;
    open.rows += `\n${text}`;
  }

  function reset(): void {
    clears = false;
    facts = new Map();
    positions = new Map();
    segments = new Map();
    rows = 0;
  }

  return {
    add(change) {
      switch (change.type) {
        case 'tx':
          addRow(change);
          positions.set(change.db, change.entry);
          return;
        case 'gap':
          addRow(change);
          return;
        case 'position':
          positions.set(change.db, change.entry);
          return;
        case 'fact':
          facts.set(change.name, change.value);
          return;
        case 'clear':
          reset();
          clears = true;
          return;
        default:
          change satisfies never;
      }
    },
    drain() {
      if (!clears && rows === 0 && positions.size === 0 && facts.size === 0) return undefined;
      const batch: CacheBatch = {
        clear: clears,
        facts: [...facts],
        positions,
        segments: Array.from(segments, ([db, segment]) => ({ db, ...segment })),
        rows,
        last_seq,
      };
      reset();
      return batch;
    },
    get rows() {
      return rows;
    },
    get clears() {
      return clears;
    },
    get last_seq() {
      return last_seq;
    },
    set last_seq(value) {
      last_seq = Math.max(last_seq, value);
    },
  };
}
