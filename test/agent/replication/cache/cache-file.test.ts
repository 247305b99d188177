// The file of the cache: batches, reading by number, by transaction and across databases, and files of an older version.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { createBatchBuilder } from '../../../../src/agent/replication/cache/cache-batch.ts';
import { type CacheFile, createCacheFile } from '../../../../src/agent/replication/cache/cache-file.ts';
import { replicationSchema } from '../../../../src/agent/replication/cache/cache-schema.ts';
import { toRowSeq, toRowTx } from '../../../../src/agent/replication/cache/history-text.ts';
import { openDatabase } from '../../../../src/sqlite/open.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const id = (n: number) => n.toString(16).padStart(16, '0');

function openFile(path = join(tempDir(), 'replication.db')) {
  const file = createCacheFile(openDatabase(path, { migrations: replicationSchema }).db);
  onTestFinished(() => file[Symbol.dispose]());
  const builder = createBatchBuilder();
  builder.last_seq = file.last_seq();
  /** One batch: words like `a5` are transaction 5 of database a. */
  function commit(words: string, keep = 1_000): void {
    for (const word of words.split(' ')) {
      const txID = id(Number(word.slice(1)));
      const rest = { postApplyChecksum: txID, pageSize: 4096, commit: 1, timestamp: '2026-01-01T00:00:00Z' };
      const entry = { transaction: { txID, ...rest }, standing: 'live', received_ms: 1 } as const;
      builder.add({ type: 'tx', db: word.slice(0, 1), entry });
    }
    const batch = builder.drain();
    if (batch !== undefined) file.commit(batch, keep);
  }
  return { file, commit };
}

const numbers = (rows: readonly string[]) => rows.map((row) => `${toRowSeq(row)}:${Number(`0x${toRowTx(row)}`)}`);
const afterTx = (file: CacheFile, db: string, n: number) => file.history(db, { type: 'tx', txID: id(n) }, 100);

test('rows of one database are read in order, by number and by page', () => {
  const { file, commit } = openFile();
  commit('a1 b1 a2 b2');
  commit('b3 a3');
  const read = (seq: number, limit = 100) => numbers(file.history('a', { type: 'seq', seq }, limit).rows);
  expect(read(0)).toEqual(['1:1', '3:2', '6:3']);
  expect(read(1)).toEqual(['3:2', '6:3']);
  expect(read(2, 1)).toEqual(['3:2']);
  expect(read(6)).toEqual([]);
});

test('rows of all databases are read in the order of arrival', () => {
  const { file, commit } = openFile();
  commit('a1 b1 a2 b2');
  commit('b3 a3');
  const read = (after: number, limit = 100) => {
    const { oldest, rows } = file.stream(after, limit);
    return { oldest, rows: rows.map(({ db, row }) => `${db}${Number(`0x${toRowTx(row)}`)}`).join(' ') };
  };
  expect(read(0)).toEqual({ oldest: 1, rows: 'a1 b1 a2 b2 b3 a3' });
  expect(read(3)).toEqual({ oldest: 1, rows: 'b2 b3 a3' });
  expect(read(1, 2)).toEqual({ oldest: 1, rows: 'b1 a2' });
  commit('c1 c2', 3);
  expect(read(0)).toEqual({ oldest: 5, rows: 'b3 a3 c1 c2' });
});

test.each([
  { words: ['a1 a2 a3', 'a4 a5'], from: 2, seq: 2 },
  { words: ['a1 a2 a3', 'a4 a5'], from: 3, seq: 3 },
  { words: ['a1 a2 a3', 'a4 a5'], from: 9, seq: 5 },
  { words: ['a1 a2 a3', 'a4 a5'], from: 0, seq: 0 },
  { words: ['a1 a4', 'a6 a9'], from: 5, seq: 2 },
  { words: ['a1 a4', 'a6 a9'], from: 7, seq: 3 },
  { words: ['a1 a2 a3', 'a2 a3 a4'], from: 2, seq: 4 },
  { words: ['a1 a2 a3', 'a2', 'a3 a4'], from: 3, seq: 5 },
  { words: ['a1 a2 a3 a2', 'b9'], from: 2, seq: 4 },
])('in $words what follows transaction $from begins behind row $seq', ({ words, from, seq }) => {
  const { file, commit } = openFile();
  for (const batch of words) commit(batch);
  expect(afterTx(file, 'a', from).start).toBe(seq);
});

test('what is let go goes a batch at a time, and is remembered for each database', () => {
  const { file, commit } = openFile();
  commit('a1 a2 b1', 4);
  commit('a3 a4', 4);
  expect(file.history('a', { type: 'seq', seq: 0 }, 9)).toMatchObject({ trimmed: undefined });
  commit('a5 a6', 4);
  expect(file.history('a', { type: 'seq', seq: 0 }, 9)).toMatchObject({ trimmed: { seq: 2, txID: id(2) } });
  expect(file.history('b', { type: 'seq', seq: 0 }, 9)).toMatchObject({ rows: [], trimmed: { seq: 3, txID: id(1) } });
  expect(numbers(file.history('a', { type: 'seq', seq: 0 }, 9).rows)).toEqual(['4:3', '5:4', '6:5', '7:6']);
});

test('a file of the version with a row for each transaction keeps its positions, and its history is let go', () => {
  const path = join(tempDir(), 'replication.db');
  const old = openDatabase(path, { migrations: replicationSchema.slice(0, 1) }).db;
  const time = '2026-01-01T00:00:00Z';
  old.exec(`INSERT INTO positions VALUES ('a', '${id(8)}', '${id(8)}', 4096, 1, '${time}', 5, 'live');
    INSERT INTO history (db, tx_id, checksum, page_size, page_count, timestamp, received_ms, standing)
    VALUES ('a', '${id(7)}', '${id(7)}', 4096, 1, '${time}', 5, 'live'), ('a', '${id(8)}', '${id(8)}', 4096, 1, '${time}', 5, 'live')`);
  old.close();
  const { file, commit } = openFile(path);
  expect(file.positions().get('a')).toMatchObject({ transaction: { txID: id(8) }, standing: 'live' });
  expect(file.last_seq()).toBe(2);
  commit('a9');
  const page = file.history('a', { type: 'seq', seq: 0 }, 9);
  expect(numbers(page.rows)).toEqual(['3:9']);
  expect(page.trimmed).toEqual({ seq: 2, txID: id(8) });
  expect(
    new Database(path, { readonly: true }).prepare("SELECT 1 FROM sqlite_schema WHERE name = 'history'").get(),
  ).toBeUndefined();
});
