// The answers about positions, through the socket: what each transaction does to them.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';

async function follow() {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  return { node, agent, connection };
}

const types = (agent: { readonly events: readonly { readonly type: string }[] }) =>
  agent.events.map(({ type }) => type).filter((type) => type.startsWith('replication_'));

test('a position has its size, lag and age', async () => {
  const { agent, connection } = await follow();
  const timestamp = new Date(Date.now() - 5_000).toISOString();
  connection.send(tx('my.db', 1, { commit: 7, pageSize: 65_536, timestamp }));
  await agent.reaches('my.db', 1);
  const { status, json } = await agent.get('/v1/replication/my.db');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    db: 'my.db',
    txID: '0000000000000001',
    postApplyChecksum: 'c000000000000001',
    pageSize: 65_536,
    commit: 7,
    size_bytes: 458_752,
    timestamp,
    state: 'live',
  });
  const { lag_ms, age_ms } = json as { lag_ms: number; age_ms: number };
  expect(lag_ms).toBeGreaterThanOrEqual(5_000);
  expect(lag_ms).toBeLessThan(30_000);
  expect(age_ms).toBeLessThan(20_000);
});

test('a clock ahead of ours is no negative lag', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1, { timestamp: new Date(Date.now() + 60_000).toISOString() }));
  await agent.reaches('a', 1);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ lag_ms: 0, state: 'live' });
});

test('names with odd characters are names', async () => {
  const { agent, connection } = await follow();
  const names = ['__proto__', 'a b/c?d', 'größe.db', '%2e%2e', 'constructor'];
  for (const name of names) connection.send(tx(name, 1));
  await agent.reaches('constructor', 1);
  for (const name of names) {
    const answer = await agent.get(`/v1/replication/${encodeURIComponent(name)}`);
    expect(answer.json).toMatchObject({ db: name, state: 'live' });
  }
  const report = await agent.get('/v1/replication');
  expect((report.json as { databases: { db: string }[] }).databases.map(({ db }) => db)).toEqual([...names].sort());
});

test('an unknown database is 404, on every row but wait', async () => {
  const { agent } = await follow();
  expect(await agent.get('/v1/replication/nope')).toMatchObject({ status: 404, json: { error: 'unknown_database' } });
  expect((await agent.get('/v1/replication/nope/transactions')).status).toBe(404);
  expect((await agent.get('/v1/replication/nope/wait?txid=1&timeout=0')).status).toBe(408);
});

test('a jump is a gap row and the new position', async () => {
  const { agent, connection } = await follow();
  for (let id = 1; id <= 0x10; id += 1) connection.send(tx('a', id));
  connection.send(tx('a', 0x15));
  await agent.reaches('a', 0x15);
  const page = await agent.get('/v1/replication/a/transactions?after=0000000000000010');
  expect(page.json).toMatchObject({
    transactions: [
      { type: 'gap', from: '0000000000000011', to: '0000000000000014', missing: 4, cause: 'jump' },
      { type: 'tx', txID: '0000000000000015', state: 'live' },
    ],
  });
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ txID: '0000000000000015', state: 'live' });
  expect(agent.events.find(({ type }) => type === 'replication_gap')).toMatchObject({ db: 'a', missing: 4 });
});

test('the same id with another checksum has diverged, until it goes on', async () => {
  const { agent, connection } = await follow();
  connection.send(
    tx('a', 1),
    tx('a', 2),
    tx('a', 2),
    tx('a', 2, { postApplyChecksum: 'ffffffffffffffff' }),
    tx('b', 1),
  );
  await agent.reaches('b', 1);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({
    txID: '0000000000000002',
    postApplyChecksum: 'ffffffffffffffff',
    state: 'diverged',
  });
  expect(types(agent)).toEqual(['replication_connected', 'replication_diverged']);
  connection.send(tx('a', 3));
  await agent.reaches('a', 3);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
  const page = (await agent.get('/v1/replication/a/transactions')).json as { transactions: { state: string }[] };
  expect(page.transactions.map(({ state }) => state)).toEqual(['live', 'live', 'diverged', 'live']);
});

test('a lower id has rewound', async () => {
  const { agent, connection } = await follow();
  connection.send(
    tx('a', 1),
    tx('a', 2),
    tx('a', 3),
    tx('a', 2, { postApplyChecksum: 'ffffffffffffffff' }),
    tx('b', 1),
  );
  await agent.reaches('b', 1);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ txID: '0000000000000002', state: 'rewound' });
  expect(types(agent)).toContain('replication_rewound');
  const page = (await agent.get('/v1/replication/a/transactions')).json as { transactions: { txID: string }[] };
  expect(page.transactions.map(({ txID }) => Number(txID))).toEqual([1, 2, 3, 2]);
});

test('a commit of 0 has dropped the database, which can be made again', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1), tx('a', 2, { commit: 0 }), tx('b', 1));
  await agent.reaches('b', 1);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'dropped', commit: 0, size_bytes: 0 });
  expect(types(agent)).toContain('replication_dropped');
  connection.send(tx('a', 1), tx('b', 2));
  await agent.reaches('b', 2);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live', txID: '0000000000000001' });
  expect(types(agent)).not.toContain('replication_rewound');
});

test('the first event of an old database says what came before it', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 0xffffffffffffffffn));
  await agent.connected();
  const page = await agent
    .get('/v1/replication/a/wait?txid=ffffffffffffffff')
    .then(() => agent.get('/v1/replication/a/transactions'));
  expect(page.json).toMatchObject({
    transactions: [
      { type: 'gap', from: '0000000000000001', to: 'fffffffffffffffe', cause: 'before_first' },
      { type: 'tx', txID: 'ffffffffffffffff' },
    ],
  });
  expect(types(agent)).toEqual(['replication_connected']);
});

test('history is read in pages, by transaction or by cursor', async () => {
  const { agent, connection } = await follow();
  for (let id = 1; id <= 5; id += 1) connection.send(tx('a', id), tx('b', id));
  connection.send(tx('a', 8));
  await agent.reaches('a', 8);
  type Page = { transactions: { type: string; txID?: string; from?: string }[]; next: string | null };
  const read = async (query: string) => {
    const page = (await agent.get(`/v1/replication/a/transactions${query}`)).json as Page;
    return {
      ids: page.transactions.map((row) => Number(row.txID ?? row.from) * (row.type === 'gap' ? -1 : 1)),
      next: page.next,
    };
  };
  const first = await read('?limit=3');
  expect(first.ids).toEqual([1, 2, 3]);
  const second = await read(`?limit=3&cursor=${first.next}`);
  expect(second.ids).toEqual([4, 5, -6]);
  const third = await read(`?limit=3&cursor=${second.next}`);
  expect(third.ids).toEqual([8]);
  expect(await read(`?cursor=${third.next}`)).toEqual({ ids: [], next: third.next });
  expect((await read('?after=0000000000000005')).ids).toEqual([-6, 8]);
  expect((await read('?after=5')).ids).toEqual([-6, 8]);
  expect((await read('?after=0000000000000007')).ids).toEqual([8]);
  expect(await read('?after=99')).toEqual({ ids: [], next: third.next });
  for (const bad of ['limit=0', 'limit=1001', 'limit=x', 'after=xyz', 'cursor=abc', 'cursor=-1', 'cursor=1&after=1']) {
    expect((await agent.get(`/v1/replication/a/transactions?${bad}`)).status, bad).toBe(400);
  }
});

test('what the cache has let go is a gap row of the answer, for those who have not seen it', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, historyCap: 3 });
  const connection = await node.next();
  connection.open();
  for (let id = 1; id <= 10; id += 1) connection.send(tx('a', id));
  await agent.reaches('a', 10);
  const read = async (query: string) => (await agent.get(`/v1/replication/a/transactions${query}`)).json;
  const trimmed = (from: string) => ({ type: 'gap', seq: null, from, to: '0000000000000007', cause: 'trimmed' });
  const kept = ['8', '9', 'a'].map((id) => ({ type: 'tx', txID: `000000000000000${id}` }));
  expect(await read('')).toMatchObject({ transactions: [trimmed('0000000000000001'), ...kept], next: '10' });
  expect(await read('?after=4')).toMatchObject({ transactions: [trimmed('0000000000000005'), ...kept] });
  expect(await read('?after=7')).toMatchObject({ transactions: kept });
  expect(await read('?cursor=7')).toMatchObject({ transactions: kept });
  expect(await read('?cursor=10')).toMatchObject({ transactions: [], next: '10' });
  for (let id = 1; id <= 3; id += 1) connection.send(tx('b', id));
  await agent.reaches('b', 3);
  expect(await read('')).toMatchObject({ transactions: [{ cause: 'trimmed', to: '000000000000000a' }], next: '10' });
  expect(await read('?cursor=10')).toEqual({ db: 'a', transactions: [], next: '10' });
});

test.each([
  { role: 'primary', last: 7, checksum: 'df8a42dcb12a565a', reads: 10, changes: 0, primary: { primary: 'self' } },
  {
    role: 'replica',
    last: 8,
    checksum: 'c9924350208c2f29',
    reads: 17,
    changes: 6,
    primary: { primary: 'remote', hostname: 'primary.test:20202' },
  },
])(
  'the recorded stream of a real $role is followed and sent on',
  async ({ role, last, checksum, reads, changes, primary }) => {
    const recorded = readFileSync(new URL(`../../../corpus/litefs-events/${role}.ndjson`, import.meta.url), 'utf8');
    const node = await startNode();
    const agent = await startReplicationAgent({ nodeUrl: node.url });
    const reader = await agent.read('/events');
    const connection = await node.next();
    connection.response.writeHead(200, { 'content-type': 'application/json' });
    await connection.write(recorded);
    await agent.reaches('my.db', last);
    const lines = recorded.trimEnd().split('\n');
    for (const line of lines) expect(JSON.stringify(await reader.next())).toBe(line);
    expect(lines).toHaveLength(reads);
    const report = (await agent.get('/v1/replication')).json;
    expect(report).toMatchObject({
      ...primary,
      counts: {
        lines: reads,
        transactions: reads - 1 - changes,
        primary_changes: changes,
        unknown: 0,
        invalid: 0,
        gaps: 0,
      },
      databases: [
        { db: 'my.db', txID: `000000000000000${last}`, postApplyChecksum: checksum, size_bytes: 8192, state: 'live' },
        { db: 'other.db', txID: '0000000000000002', state: 'live' },
      ],
    });
  },
);
