// Parses the text of history-text.ts back to a row. The file may be damaged, so a text that does not fit is refused.
import { z } from 'zod';
import { cachedGap, standing } from '../../../contract/local/replication.ts';
import { transaction } from '../../../contract/replication.ts';
import type { HistoryRow } from './cache-change.ts';

const whole = z.coerce.number().pipe(z.int().nonnegative());
const { txID, postApplyChecksum, timestamp } = transaction.shape;
const txRow = z.tuple([whole, txID, z.literal('tx'), postApplyChecksum, whole, whole, timestamp, whole, standing]);
const gapRow = z.tuple([whole, txID, z.literal('gap'), txID, cachedGap.shape.cause.exclude(['trimmed']), whole]);

/** Throws a ZodError when the text does not fit. */
export function parseRowText(row: string): HistoryRow {
  const words = row.split(' ');
  if (words[2] === 'gap') {
    const [seq, to, , from, cause, at_ms] = gapRow.parse(words);
    return { type: 'gap', seq, missed: { from, to }, cause, at_ms };
  }
  const [seq, txID, , postApplyChecksum, pageSize, commit, timestamp, received_ms, standing] = txRow.parse(words);
  return {
    type: 'tx',
    seq,
    entry: { transaction: { txID, postApplyChecksum, pageSize, commit, timestamp }, standing, received_ms },
  };
}
