// Builds lines of the stream for readers with a cursor. Pure.
import type { GapCause, ReaderGap } from '../../../contract/local/replication.ts';
import type { TxEvent } from '../../../contract/replication.ts';
import type { MissedRange } from '../../../core/replication/replication-position.ts';
import type { HistoryRow } from '../cache/cache-change.ts';

export function toCursorLine(db: string, row: HistoryRow): string {
  if (row.type === 'gap') return toGapLine(db, row.missed, row.cause, row.seq);
  const event: TxEvent = { type: 'tx', db, data: row.entry.transaction };
  return withCursor(JSON.stringify(event), row.seq);
}

export function toGapLine(db: string, missed: MissedRange, cause: GapCause, seq: number): string {
  const gap: ReaderGap = { type: 'gap', db, data: { ...missed, cause }, cursor: String(seq) };
  return JSON.stringify(gap);
}

/** The line that says that the cache has dropped all rows up to `seq`. */
export function toTrimmedLine(seq: number): string {
  const gap: ReaderGap = { type: 'gap', data: { cause: 'trimmed' }, cursor: String(seq) };
  return JSON.stringify(gap);
}

/** Adds the cursor to `line`, a JSON object as the node sent it. The rest of the line does not change. */
export function withCursor(line: string, seq: number): string {
  return `${line.trimEnd().slice(0, -1)},"cursor":"${seq}"}`;
}
