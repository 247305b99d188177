// Writes a row of history as a line of text, the form in which a batch is stored: number, transaction, then the rest. Pure. It
// imports no schemas, because the thread that writes the file reads numbers and ids only.
import type { CacheChange } from './cache-change.ts';

const TX_ID_LENGTH = 16;

export function toRowText(change: Extract<CacheChange, { type: 'tx' | 'gap' }>, seq: number): string {
  if (change.type === 'gap') {
    const { at_ms, cause, missed } = change;
    return `${seq} ${missed.to} gap ${missed.from} ${cause} ${at_ms}`;
  }
  const { received_ms, standing, transaction } = change.entry;
  const { commit, pageSize, postApplyChecksum, timestamp, txID } = transaction;
  return `${seq} ${txID} tx ${postApplyChecksum} ${pageSize} ${commit} ${timestamp} ${received_ms} ${standing}`;
}

export function toRowSeq(row: string): number {
  return Number(row.slice(0, row.indexOf(' ')));
}

/** The transaction of the row; for a gap the last one that is missing. */
export function toRowTx(row: string): string {
  const start = row.indexOf(' ') + 1;
  return row.slice(start, start + TX_ID_LENGTH);
}
