// Rows of history as text: what is written is what is read, and damage is refused.
import { expect, test } from 'vitest';
import type { CacheChange, HistoryRow } from '../../../../src/agent/replication/cache/cache-change.ts';
import { toRowSeq, toRowText, toRowTx } from '../../../../src/agent/replication/cache/history-text.ts';
import { parseRowText } from '../../../../src/agent/replication/cache/parse-history-text.ts';

type RowChange = Extract<CacheChange, { type: 'tx' | 'gap' }>;

const transaction = {
  txID: 'fffffffffffffffe',
  postApplyChecksum: '83b05248774ce767',
  pageSize: 65_536,
  commit: 0,
  timestamp: '2023-09-06T19:12:34.985+02:00',
};
const tx: RowChange = { type: 'tx', db: 'a b', entry: { transaction, standing: 'dropped', received_ms: 17 } };
const gap: RowChange = {
  type: 'gap',
  db: 'a b',
  missed: { from: '0000000000000001', to: '00000000000000ff' },
  cause: 'not_saved',
  at_ms: 12,
};

test.each<[RowChange, string, HistoryRow]>([
  [tx, 'fffffffffffffffe', { type: 'tx', seq: 12, entry: tx.type === 'tx' ? tx.entry : never() }],
  [
    gap,
    '00000000000000ff',
    {
      type: 'gap',
      seq: 12,
      missed: { from: '0000000000000001', to: '00000000000000ff' },
      cause: 'not_saved',
      at_ms: 12,
    },
  ],
])('a row of %o is itself again', (change, txID, row) => {
  const text = toRowText(change, 12);
  expect(text).not.toContain('\n');
  expect(toRowSeq(text)).toBe(12);
  expect(toRowTx(text)).toBe(txID);
  expect(parseRowText(text)).toEqual(row);
});

test.each(['', '12', toRowText(tx, 1).slice(0, -3), `${toRowText(gap, 1)} 3`, toRowText(tx, 1).replace('83b', '83B')])(
  '%j is refused',
  (text) => {
    expect(() => parseRowText(text)).toThrow();
  },
);

function never(): never {
  throw new Error('not a transaction');
}
