// The cache is damaged, not a file, locked, full or read-only, at the start and later. The operations keep serving, the state of
// the part says so, and no position claims to be live.
import { chmodSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import type { CacheCondition } from '../../../../src/agent/replication/cache/cache-keeper.ts';
import { replicationSchema } from '../../../../src/agent/replication/cache/cache-schema.ts';
import { createCacheStore } from '../../../../src/agent/replication/cache/cache-store.ts';
import { type CacheWriter, openCacheWriter } from '../../../../src/agent/replication/cache/cache-writer.ts';
import type { ReplicaEntry } from '../../../../src/agent/replication/replica.ts';
import { systemClock } from '../../../../src/core/clock.ts';
import { missedBetween } from '../../../../src/core/replication/replication-position.ts';
import { type OpenedDatabase, openDatabaseOrMemory, type Sqlite } from '../../../../src/sqlite/open.ts';
import { eventually } from '../../../support/eventually.ts';
import { loudly } from '../../../support/loudly.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';
import { tempDir } from '../../../support/temp-dir.ts';

test('a file that is no database is set aside, and the cache is new', async () => {
  const stateDir = tempDir();
  writeFileSync(join(stateDir, 'replication.db'), 'x'.repeat(10_000));
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, stateDir });
  const connection = await node.next();
  connection.open();
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  expect(agent.part()).toMatchObject({ state: 'degraded', reason: expect.stringMatching(/was damaged/) });
  expect((await agent.get('/v1/replication')).json).toMatchObject({ cache: { state: 'rebuilt' } });
  expect(readdirSync(stateDir).some((name) => name.includes('.damaged'))).toBe(true);
  await agent.stop();
  const later = await startReplicationAgent({ nodeUrl: node.url, stateDir });
  expect((await later.get('/v1/replication/a')).json).toMatchObject({ txID: '0000000000000001', state: 'stale' });
});

test('a directory in place of the file leaves memory: everything serves and nothing is live', async () => {
  const stateDir = tempDir();
  mkdirSync(join(stateDir, 'replication.db'));
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, stateDir, cacheRetry_ms: 50 });
  const connection = await node.next();
  connection.open();
  const reader = await agent.read('/events');
  await reader.next();
  const wait = agent.get('/v1/replication/a/wait?txid=3');
  connection.send(tx('a', 1), tx('a', 3));
  expect(await wait).toMatchObject({
    status: 200,
    json: { state: 'stale', reason: expect.stringMatching(/^not kept/) },
  });
  expect(await reader.next()).toEqual(tx('a', 1));
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 200);
  const page = (await agent.get('/v1/replication/a/transactions')).json as { transactions: { type: string }[] };
  expect(page.transactions.map(({ type }) => type)).toEqual(['tx', 'gap', 'tx']);
  expect(agent.replication.status()).toMatchObject({ cache: { state: 'memory' }, connection: { state: 'following' } });
  expect(agent.part()).toMatchObject({ state: 'degraded', reason: expect.stringMatching(/cannot be used/) });
  expect(statSync(join(stateDir, 'replication.db')).isDirectory()).toBe(true);
});

const isRoot = process.getuid?.() === 0;
test.skipIf(loudly(isRoot, 'a read-only state directory, because root writes into those too'))(
  'a read-only state directory leaves memory, and is used once it can be written',
  async () => {
    const stateDir = tempDir();
    chmodSync(stateDir, 0o555);
    const node = await startNode();
    const agent = await startReplicationAgent({ nodeUrl: node.url, stateDir, cacheRetry_ms: 50 });
    const connection = await node.next();
    connection.open();
    connection.send(tx('a', 1));
    await agent.reaches('a', 1);
    expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'stale' });
    expect(agent.part()).toMatchObject({ state: 'degraded' });
    chmodSync(stateDir, 0o755);
    await eventually(() => agent.replication.status().cache.state === 'file');
    expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
  },
);

test('a file that another program locks is caught up with later, and what was not saved is a gap', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, cacheRetry_ms: 50 });
  const connection = await node.next();
  connection.open();
  connection.send(tx('a', 1), tx('b', 1));
  await agent.reaches('b', 1);
  await agent.get('/v1/replication/a/transactions');
  const other = new Database(join(agent.stateDir, 'replication.db'));
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  connection.send(tx('a', 2));
  await eventually(() => agent.replication.status().cache.state === 'failed');
  connection.send(tx('a', 3), tx('a', 4));
  await agent.reaches('a', 4);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ txID: '0000000000000004', state: 'stale' });
  await eventually(() => /locked.*memory only/.test(agent.part().reason ?? ''));
  expect(agent.part()).toMatchObject({ state: 'degraded' });
  other.exec('COMMIT');
  await eventually(() => agent.replication.status().cache.state === 'file');
  await eventually(() => agent.part().state === 'ok');
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
  connection.send(tx('a', 5));
  await agent.reaches('a', 5);
  const page = (await agent.get('/v1/replication/a/transactions')).json;
  expect(page).toMatchObject({
    transactions: [
      { txID: '0000000000000001' },
      { type: 'gap', from: '0000000000000002', to: '0000000000000003', cause: 'not_saved' },
      { txID: '0000000000000004' },
      { txID: '0000000000000005' },
    ],
  });
});

function entry(n: number): ReplicaEntry {
  const id = n.toString(16).padStart(16, '0');
  const rest = { postApplyChecksum: id, pageSize: 4096, commit: 1, timestamp: '2026-01-01T00:00:00Z' };
  return { transaction: { txID: id, ...rest }, standing: 'live', received_ms: n };
}

interface OpenedWriter {
  readonly writer: CacheWriter;
  readonly path: string;
  /** The handle that the writer has now. */
  handle(): Sqlite;
  readonly said: readonly CacheCondition['state'][];
  /** What the stream would do: remembered first, then written. */
  move(db: string, n: number): void;
  clear(): void;
  rows(db: string): Promise<string[]>;
}

/** The store on this thread, so that a test can spoil its handle. */
async function openWriter(
  retry_ms: number,
  historyCap?: number,
  prepare?: (db: Sqlite) => void,
): Promise<OpenedWriter> {
  const path = join(tempDir(), 'replication.db');
  const current = new Map<string, ReplicaEntry>();
  const said: CacheCondition['state'][] = [];
  let opened: OpenedDatabase | undefined;
  const store = createCacheStore(() => {
    opened = openDatabaseOrMemory(path, { migrations: replicationSchema });
    prepare?.(opened.db);
    return opened;
  });
  const writer = await openCacheWriter({
    clock: systemClock,
    retry_ms,
    ...(historyCap === undefined ? {} : { historyCap }),
    current: () => current,
    onCondition: ({ state }) => said.push(state),
    onRestored: (positions) => {
      for (const [db, known] of positions) current.set(db, known);
    },
    link: {
      ask: (request) => Promise.resolve(store.answer(request)),
      // The handle stays, so that a test can spoil the file under it.
      rest: async () => void opened?.db.pragma('wal_checkpoint(TRUNCATE)'),
      async [Symbol.asyncDispose]() {
        store[Symbol.dispose]();
      },
    },
  });
  onTestFinished(() => writer[Symbol.asyncDispose]());
  return {
    writer,
    path,
    said,
    handle() {
      if (opened === undefined) throw new Error('not opened');
      return opened.db;
    },
    move(db, n) {
      current.set(db, entry(n));
      writer.add([{ type: 'tx', db, entry: entry(n) }]);
    },
    clear() {
      current.clear();
      writer.add([{ type: 'clear' }, { type: 'fact', name: 'cluster_id', value: 'two' }]);
    },
    async rows(db) {
      const page = await writer.history(db, { type: 'seq', seq: 0 }, 10_000);
      return (page?.rows ?? []).map((row) =>
        row.type === 'tx'
          ? `${Number(`0x${row.entry.transaction.txID}`)}`
          : `gap ${Number(`0x${row.missed.from}`)}-${Number(`0x${row.missed.to}`)} ${row.cause}`,
      );
    },
  };
}

test('a full disk loses history to a gap, and positions are caught up when there is room', async () => {
  const { writer, handle, move, rows, said } = await openWriter(30);
  move('a', 1);
  await writer.flush();
  const pages = Number(handle().pragma('page_count', { simple: true }));
  handle().pragma(`max_page_count = ${pages}`);
  let n = 1;
  while (writer.condition.state !== 'failed' && n < 2_000) {
    n += 1;
    move('a', n);
    await writer.flush();
  }
  expect(writer.condition).toMatchObject({ state: 'failed', reason: expect.stringMatching(/full/) });
  move('a', n + 1);
  handle().pragma('max_page_count = 1000000');
  await eventually(() => writer.condition.state === 'file');
  expect((await rows('a')).slice(-3)).toEqual([`${n - 1}`, `gap ${n}-${n} not_saved`, `${n + 1}`]);
  expect(said).toEqual(['file', 'failed', 'file']);
});

test('a file that turns read-only is opened again when that is over', async () => {
  const { writer, handle, move, rows } = await openWriter(30);
  move('a', 1);
  await writer.flush();
  const first = handle();
  first.pragma('query_only = ON');
  move('a', 2);
  await writer.flush();
  expect(writer.condition).toMatchObject({ state: 'failed', reason: expect.stringMatching(/readonly/) });
  expect(first.open).toBe(false);
  move('a', 3);
  await eventually(() => writer.condition.state === 'file');
  expect(handle()).not.toBe(first);
  expect(await rows('a')).toEqual(['1', 'gap 2-2 not_saved', '3']);
});

test('a cluster that changes while nothing can be written empties the cache afterwards', async () => {
  const { writer, handle, move, clear, rows } = await openWriter(30);
  move('old', 1);
  await writer.flush();
  handle().pragma('query_only = ON');
  clear();
  await writer.flush();
  expect(writer.condition.state).toBe('failed');
  move('new', 1);
  await eventually(() => writer.condition.state === 'file');
  expect(await rows('old')).toEqual([]);
  expect(writer.fact('cluster_id')).toBe('two');
  expect(handle().prepare('SELECT db FROM positions').all()).toEqual([{ db: 'new' }]);
});

test('a file that is damaged while it is open is noticed, set aside and replaced', async () => {
  const { writer, handle, move, path, rows } = await openWriter(30, undefined, (db) => db.pragma('cache_size = 0'));
  for (let n = 1; n <= 3_000; n += 1) move('a', n);
  await writer.rest();
  writeFileSync(path, Buffer.alloc(statSync(path).size - 4_096, 0xff), { flag: 'r+' });
  handle().pragma('shrink_memory');
  expect(await writer.history('a', { type: 'seq', seq: 0 }, 10_000)).toBeUndefined();
  expect(writer.condition.state).toBe('failed');
  move('a', 3_001);
  await eventually(() => writer.condition.state === 'rebuilt');
  expect(await rows('a')).toEqual(['gap 1-3000 not_saved', '3001']);
  move('a', 3_002);
  expect((await rows('a')).at(-1)).toBe('3002');
});

test('history is bounded, and remembers how far it was let go', async () => {
  const { writer, move, rows } = await openWriter(30, 100);
  for (let n = 1; n <= 250; n += 1) move('a', n);
  await writer.flush();
  move('b', 1);
  await writer.flush();
  expect(await rows('a')).toHaveLength(100);
  expect((await rows('a'))[0]).toBe('151');
  const trimmed = async (db: string) => (await writer.history(db, { type: 'seq', seq: 0 }, 1))?.trimmed;
  expect(await trimmed('a')).toEqual({ seq: 150, txID: (150).toString(16).padStart(16, '0') });
  expect(await trimmed('b')).toBeUndefined();
});

test('what belongs together is in one transaction: a gap never stands without its position', async () => {
  const { writer, handle } = await openWriter(60_000);
  handle().exec(
    `CREATE TRIGGER stop BEFORE INSERT ON positions WHEN NEW.db = 'b' BEGIN SELECT RAISE(ABORT, 'no'); END`,
  );
  const missed = missedBetween('0000000000000001', '0000000000000009');
  if (missed === undefined) throw new Error('nothing missed');
  writer.add([
    { type: 'gap', db: 'b', missed, cause: 'jump', at_ms: 0 },
    { type: 'tx', db: 'b', entry: entry(9) },
  ]);
  const reader = new Database(handle().name, { readonly: true });
  onTestFinished(() => void reader.close());
  await writer.flush();
  expect(writer.condition.state).toBe('failed');
  expect(reader.prepare('SELECT count(*) AS n FROM segments').get()).toEqual({ n: 0 });
});
