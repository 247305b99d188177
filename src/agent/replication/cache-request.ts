// What is asked of the thread that owns replication.db, and what it answers: plain data that is copied between threads.
import type { OpenState } from '../../sqlite/open.ts';
import type { CacheBatch } from './cache-batch.ts';
import type { FactName } from './cache-change.ts';
import type { ReplicaEntry } from './replica.ts';

/** Where reading begins: behind a row, or behind the last row that holds a transaction or an earlier one. */
export type HistoryStart =
  | { readonly type: 'seq'; readonly seq: number }
  | { readonly type: 'tx'; readonly txID: string };

/** `open` again opens the file anew. `repairs`: this batch makes up for one that was not written, which others may not. */
export type CacheRequest =
  | { readonly type: 'open' }
  | { readonly type: 'commit'; readonly batch: CacheBatch; readonly keep: number; readonly repairs: boolean }
  | { readonly type: 'history'; readonly db: string; readonly start: HistoryStart; readonly limit: number }
  | { readonly type: 'stream'; readonly after: number; readonly limit: number }
  | { readonly type: 'checkpoint' };

export interface TrimmedMark {
  readonly seq: number;
  readonly txID: string;
}

/** `isKept`: no file could be had, and the memory that stood in for it before goes on doing so. */
export interface OpenedAnswer {
  readonly type: 'opened';
  readonly state: OpenState;
  readonly reason: string | undefined;
  readonly isKept: boolean;
  readonly positions: ReadonlyMap<string, ReplicaEntry>;
  readonly facts: ReadonlyMap<FactName, string>;
  readonly last_seq: number;
}

/** Rows as text, oldest first. `start` is the number behind which they begin; `trimmed` what was let go of the database. */
export interface HistoryAnswer {
  readonly type: 'history';
  readonly rows: readonly string[];
  readonly start: number;
  readonly trimmed: TrimmedMark | undefined;
}

/** Rows of every database in the order of arrival. `oldest` is the first number that is kept, 0 when there is none. */
export interface StreamAnswer {
  readonly type: 'stream';
  readonly rows: readonly { readonly db: string; readonly row: string }[];
  readonly oldest: number;
}

/** `isOpen`: the same handle may work again, as on a full disk. */
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

/** The way to the thread. Answers come in the order of the requests; `failed` is an answer too. Rejects when the thread died. */
export interface CacheLink extends AsyncDisposable {
  ask(request: CacheRequest): Promise<CacheAnswer>;
}
