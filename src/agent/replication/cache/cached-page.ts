// A page read from the cache, with its rows parsed. Pure.
import type { HistoryRow } from './cache-change.ts';
import type { HistoryAnswer, StreamAnswer, TrimmedMark } from './cache-request.ts';
import { parseRowText } from './parse-history-text.ts';

export interface HistoryPage {
  readonly rows: readonly HistoryRow[];
  /** The rows begin after this number. */
  readonly start: number;
  /** The newest row of the database that was dropped; undefined while all are stored. */
  readonly trimmed: TrimmedMark | undefined;
}

export interface StreamPage {
  readonly rows: readonly { readonly db: string; readonly row: HistoryRow }[];
  /** The first number that is stored, 0 when there is none. */
  readonly oldest: number;
}

export function toHistoryPage({ rows, start, trimmed }: HistoryAnswer): HistoryPage {
  return { rows: rows.map(parseRowText), start, trimmed };
}

export function toStreamPage({ oldest, rows }: StreamAnswer): StreamPage {
  return { rows: rows.map(({ db, row }) => ({ db, row: parseRowText(row) })), oldest };
}
