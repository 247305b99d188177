// A page read from the cache, with its rows parsed: some of them in each turn of the loop, because a hundred readers that come at once
// ask for a hundred pages.
import { mapInTurns } from '../../../core/map-in-turns.ts';
import { nextSlice } from '../../../core/next-slice.ts';
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

export async function toHistoryPage({ rows, start, trimmed }: HistoryAnswer): Promise<HistoryPage> {
  await nextSlice();
  return { rows: await mapInTurns(rows, toCost, parseRowText), start, trimmed };
}

export async function toStreamPage({ oldest, rows }: StreamAnswer): Promise<StreamPage> {
  await nextSlice();
  const parsed = await mapInTurns(
    rows,
    ({ row }) => toCost(row),
    ({ db, row }) => ({ db, row: parseRowText(row) }),
  );
  return { rows: parsed, oldest };
}

/** Parsing a row takes about a microsecond for every 30 characters. */
function toCost(row: string): number {
  return row.length;
}
