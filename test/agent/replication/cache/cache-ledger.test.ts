import { expect, test } from 'vitest';
import type { CacheBatch } from '../../../../src/agent/replication/cache/cache-batch.ts';
import type { CacheChange } from '../../../../src/agent/replication/cache/cache-change.ts';
import { createCacheLedger } from '../../../../src/agent/replication/cache/cache-ledger.ts';
import type { ReplicaEntry } from '../../../../src/agent/replication/replica.ts';

function entry(n: number): ReplicaEntry {
  const id = n.toString(16).padStart(16, '0');
  const rest = { postApplyChecksum: id, pageSize: 4096, commit: 1, timestamp: '2026-01-01T00:00:00Z' };
  return { transaction: { txID: id, ...rest }, standing: 'live', received_ms: n };
}

const tx = (db: string, n: number): CacheChange => ({ type: 'tx', db, entry: entry(n) });

/** The rows of a batch, as database, kind and last transaction. */
function rowsOf(batch: CacheBatch | undefined): string[] {
  return (batch?.segments ?? []).flatMap(({ db, rows }) =>
    rows.split('\n').map((row) => {
      const [, to = '', kind] = row.split(' ');
      return `${db} ${kind} ${Number(`0x${to}`)}`;
    }),
  );
}

/** A ledger of an empty file that has caught up. */
function openLedger() {
  const ledger = createCacheLedger();
  const nothing = { positions: new Map(), facts: new Map(), last_seq: 0 };
  ledger.opened({ type: 'opened', state: 'file', reason: undefined, isKept: false, ...nothing });
  expect(ledger.catchUp(new Map(), 0)).toBeUndefined();
  return ledger;
}

test('a ledger is behind until it has caught up, and takes no row before', () => {
  const ledger = createCacheLedger();
  expect(ledger.isBehind).toBe(true);
  expect(ledger.add([tx('a', 1)])).toBeUndefined();
  expect(ledger.take()).toBeUndefined();
  expect(openLedger().isBehind).toBe(false);
});

test('rows are numbered in the order in which they come, over batches', () => {
  const ledger = openLedger();
  expect(ledger.add([tx('a', 1), tx('b', 1)])).toBe(2);
  expect(rowsOf(ledger.take())).toEqual(['a tx 1', 'b tx 1']);
  expect(ledger.add([{ type: 'position', db: 'a', entry: entry(1) }])).toBeUndefined();
  expect(ledger.add([tx('a', 2)])).toBe(3);
});

test('what was not stored becomes a gap after the last stored position', () => {
  const ledger = openLedger();
  ledger.add([tx('a', 1)]);
  const stored = ledger.take();
  if (stored !== undefined) ledger.committed(stored);
  ledger.add([tx('a', 2)]);
  ledger.fallBehind();
  ledger.add([tx('a', 3)]);
  expect(ledger.take()).toBeUndefined();
  expect(rowsOf(ledger.catchUp(new Map([['a', entry(4)]]), 9))).toEqual(['a gap 3', 'a tx 4']);
  expect(ledger.isBehind).toBe(false);
});

test.each([
  ['while it waits', (ledger: ReturnType<typeof openLedger>) => ledger.fallBehind()],
  [
    'in a batch that fails',
    (ledger: ReturnType<typeof openLedger>) => {
      const batch = ledger.take();
      if (batch !== undefined) ledger.failed(batch);
      ledger.fallBehind();
    },
  ],
])('a change of the cluster that is lost %s is caught up with', (_where, lose) => {
  const ledger = openLedger();
  ledger.add([{ type: 'clear' }, { type: 'fact', name: 'cluster_id', value: 'two' }]);
  lose(ledger);
  expect(ledger.catchUp(new Map(), 0)).toMatchObject({ clear: true, facts: [['cluster_id', 'two']] });
  expect(ledger.fact('cluster_id')).toBe('two');
  ledger.add([tx('a', 1)]);
  expect(ledger.take()).toMatchObject({ clear: false });
});
