// Requests to the thread that owns replication.db, and its answers: plain data that is copied between threads.
import type { OpenState } from '../../../sqlite/open.ts';
import type { DatabaseLink } from '../../database-thread/database-thread.ts';
import type { ReplicaEntry } from '../replica.ts';
import type { CacheBatch } from './cache-batch.ts';
import type { FactName } from './cache-change.ts';

/** Where reading begins: after a row, or after the last row that holds the transaction or an earlier one. */
export type HistoryStart =
  | { readonly type: 'seq'; readonly seq: number }
  | { readonly type: 'tx'; readonly txID: string };

/**
 * Any request opens the file of the thread before; a second `open` opens it again. `repairs`: this batch replaces one that was not written; until then
 * others are refused.
 */
export type CacheRequest =
  | { readonly type: 'open' }
  | { readonly type: 'commit'; readonly batch: CacheBatch; readonly keep: number; readonly repairs: boolean }
  | { readonly type: 'history'; readonly db: string; readonly start: HistoryStart; readonly limit: number }
  | { readonly type: 'stream'; readonly after: number; readonly limit: number };

export interface TrimmedMark {
  readonly seq: number;
  readonly txID: string;
}

/** `isKept`: the file still cannot be opened, and the database in memory that stands in for it is kept. */
export interface OpenedAnswer {
  readonly type: 'opened';
  readonly state: OpenState;
  readonly reason: string | undefined;
  readonly isKept: boolean;
  readonly positions: ReadonlyMap<string, ReplicaEntry>;
  readonly facts: ReadonlyMap<FactName, string>;
  readonly last_seq: number;
}

/** Rows as text, oldest first. They begin after number `start`; `trimmed` is what was dropped of this database. */
export interface HistoryAnswer {
  readonly type: 'history';
  readonly rows: readonly string[];
  readonly start: number;
  readonly trimmed: TrimmedMark | undefined;
}

/** Rows of all databases in the order in which they came. `oldest` is the first number that is stored, 0 when there is none. */
export interface StreamAnswer {
  readonly type: 'stream';
  readonly rows: readonly { readonly db: string; readonly row: string }[];
  readonly oldest: number;
}

/** `isOpen`: the file is still open and may work again, as after a full disk. */
export interface FailedAnswer {
  readonly type: 'failed';
  readonly message: string;
  readonly isOpen: boolean;
}

export type CacheAnswer =
  | OpenedAnswer
  | { readonly type: 'done'; readonly ms: number }
  | HistoryAnswer
  | StreamAnswer
  | FailedAnswer;

export type CacheLink = DatabaseLink<CacheRequest, CacheAnswer>;
