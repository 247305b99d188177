// Lines of the stream for readers with a cursor. Pure.
import type { GapCause, ReaderGap } from '../../contract/local/replication.ts';
import type { TxEvent } from '../../contract/replication.ts';
import type { MissedRange } from '../../core/replication-position.ts';
import type { HistoryRow } from './cache-change.ts';

export function toCursorLine(db: string, row: HistoryRow): string {
  if (row.type === 'gap') return toGapLine(db, row.missed, row.cause, row.seq);
  const event: TxEvent = { type: 'tx', db, data: row.entry.transaction };
  return withCursor(JSON.stringify(event), row.seq);
}

export function toGapLine(db: string, missed: MissedRange, cause: GapCause, seq: number): string {
  const gap: ReaderGap = { type: 'gap', db, data: { ...missed, cause }, cursor: String(seq) };
  return JSON.stringify(gap);
}

/** The cache has let go of everything up to `seq`. */
export function toTrimmedLine(seq: number): string {
  const gap: ReaderGap = { type: 'gap', data: { cause: 'trimmed' }, cursor: String(seq) };
  return JSON.stringify(gap);
}

/** `line` is a JSON object as the node sent it; all else of it stays as it is. */
export function withCursor(line: string, seq: number): string {
  return `${line.trimEnd().slice(0, -1)},"cursor":"${seq}"}`;
}
