// What was read from the cache, with its rows as values. Pure.
import type { HistoryRow } from './cache-change.ts';
import type { HistoryAnswer, StreamAnswer, TrimmedMark } from './cache-request.ts';
import { parseRowText } from './parse-row-text.ts';

export interface HistoryPage {
  readonly rows: readonly HistoryRow[];
  /** The number behind which the rows begin. */
  readonly start: number;
  /** The newest row of the database that was let go; undefined while all of it is kept. */
  readonly trimmed: TrimmedMark | undefined;
}

export interface StreamPage {
  readonly rows: readonly { readonly db: string; readonly row: HistoryRow }[];
  /** The first number that is kept, 0 when there is none. */
  readonly oldest: number;
}

export function toHistoryPage({ rows, start, trimmed }: HistoryAnswer): HistoryPage {
  return { rows: rows.map(parseRowText), start, trimmed };
}

export function toStreamPage({ oldest, rows }: StreamAnswer): StreamPage {
  return { rows: rows.map(({ db, row }) => ({ db, row: parseRowText(row) })), oldest };
}
