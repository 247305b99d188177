// Positions that the stream does not tell: read from the mounted directory of the node after a reconnect.
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createMountedNode } from '../../../../src/agent/replication/mount/mounted-node.ts';
import { eventually } from '../../../support/eventually.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const id = (n: number) => n.toString(16).padStart(16, '0');
const checksum = (n: number) => `c${id(n).slice(1)}`;

/** Puts there what a node would have after transaction `n`. */
function put(dir: string, db: string, n: number, pages = 7): void {
  const header = Buffer.alloc(100);
  header.write('SQLite format 3\0', 'latin1');
  header.writeUInt16BE(4096, 16);
  header.writeUInt32BE(pages, 28);
  writeFileSync(join(dir, db), header);
  writeFileSync(join(dir, `${db}-pos`), `${id(n)}/${checksum(n)}\n`);
}

async function follow(litefsDir: string) {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, litefsDir });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const get = async (db: string) => (await agent.get(`/v1/replication/${db}`)).json as Record<string, unknown>;
  const rows = async (db: string) => {
    const page = (await agent.get(`/v1/replication/${db}/transactions`)).json as { transactions: object[] };
    return page.transactions;
  };
  return { node, agent, connection, get, rows };
}

test('databases that are there already are known and live without a transaction', async () => {
  const dir = tempDir();
  put(dir, 'a.db', 5);
  put(dir, 'b', 1);
  writeFileSync(join(dir, 'a.db-wal'), 'x');
  writeFileSync(join(dir, 'broken-pos'), 'x');
  mkdirSync(join(dir, 'sub'));
  const { agent, get } = await follow(dir);
  await agent.reaches('a.db', 5);
  expect(await get('a.db')).toMatchObject({
    txID: id(5),
    postApplyChecksum: checksum(5),
    pageSize: 4096,
    commit: 7,
    size_bytes: 28_672,
    state: 'live',
    source: 'mount',
  });
  await agent.reaches('b', 1);
  expect((await agent.replication.wholeStatus()).databases.map(({ db }) => db)).toEqual(['a.db', 'b']);
  expect(agent.part()).toMatchObject({ state: 'ok' });
});

test('after a reconnect a quiet database is live again, and what was missed is a gap', async () => {
  const dir = tempDir();
  const { agent, connection, get, node, rows } = await follow(dir);
  connection.send(tx('quiet', 3), tx('moved', 3));
  await agent.reaches('moved', 3);
  put(dir, 'quiet', 3, 99);
  put(dir, 'moved', 8);
  connection.cut();
  await eventually(() => agent.replication.status().connection.state !== 'following');
  expect(await get('quiet')).toMatchObject({ state: 'stale' });
  (await node.next()).open();
  await agent.reaches('moved', 8);
  // The stream knew its size and time; the file has only confirmed it.
  expect(await get('quiet')).toMatchObject({
    txID: id(3),
    commit: 3,
    timestamp: '2026-01-01T00:00:00Z',
    state: 'live',
  });
  expect(await get('moved')).toMatchObject({ txID: id(8), state: 'live', source: 'mount' });
  expect((await rows('moved')).slice(-2)).toMatchObject([
    { type: 'gap', from: id(4), to: id(7), cause: 'disconnected' },
    { type: 'tx', txID: id(8) },
  ]);
  expect(agent.events.find(({ type }) => type === 'replication_gap')).toMatchObject({ db: 'moved', missing: 4 });
});

test('a caller that waits is woken by what the file says', async () => {
  const dir = tempDir();
  const { agent, connection, node } = await follow(dir);
  const wait = agent.get('/v1/replication/a/wait?txid=8');
  await eventually(() => agent.replication.status().waiters === 1);
  put(dir, 'a', 9);
  connection.cut();
  (await node.next()).open();
  expect(await wait).toMatchObject({ status: 200, json: { txID: id(9), state: 'live' } });
});

test('what comes on the stream meanwhile counts, and nothing looks as if it went back', async () => {
  const dir = tempDir();
  const { agent, connection, get, node } = await follow(dir);
  connection.send(tx('a', 3));
  await agent.reaches('a', 3);
  connection.cut();
  put(dir, 'a', 6);
  const again = await node.next();
  again.open();
  await agent.connected();
  again.send(tx('a', 5), tx('a', 6), tx('a', 7));
  await agent.reaches('a', 7);
  put(dir, 'z', 1);
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 400);
  expect(await get('a')).toMatchObject({ txID: id(7), state: 'live' });
  expect(await get('a')).not.toHaveProperty('source');
  expect(agent.events.map(({ type }) => type)).not.toContain('replication_rewound');
});

test('a file that is behind says that the node has gone back', async () => {
  const dir = tempDir();
  const { agent, connection, get, node } = await follow(dir);
  connection.send(tx('a', 9));
  await agent.reaches('a', 9);
  connection.cut();
  put(dir, 'a', 4);
  (await node.next()).open();
  await agent.reaches('a', 4);
  expect(await get('a')).toMatchObject({ state: 'rewound' });
});

test('.primary is used where the node names nobody', async () => {
  const dir = tempDir();
  writeFileSync(join(dir, '.primary'), 'e784079b449483\n');
  const { agent, connection, node } = await follow(dir);
  expect(agent.replication.status().primary).toBe('self');
  connection.cut();
  (await node.next()).open({ type: 'init', data: { isPrimary: false } });
  await eventually(() => agent.replication.status().primary === 'remote');
  expect(agent.replication.status().hostname).toBe('e784079b449483');
});

test('a token is the position of the database itself, ahead of the stream', async () => {
  const dir = tempDir();
  const { agent, connection } = await follow(dir);
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  put(dir, 'a', 2);
  expect((await agent.get('/v1/replication/a/token')).json).toMatchObject({
    __txid: id(2),
    txnum: '2',
    source: 'mount',
  });
  rmSync(join(dir, 'a-pos'));
  expect((await agent.get('/v1/replication/a/token')).json).toMatchObject({ __txid: id(1), source: 'stream' });
});

test('many tokens at once are all the position of the database', async () => {
  const dir = tempDir();
  const { agent, connection } = await follow(dir);
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  put(dir, 'a', 2);
  const answers = await Promise.all(Array.from({ length: 50 }, () => agent.get('/v1/replication/a/token')));
  expect(new Set(answers.map(({ json }) => JSON.stringify(json))).size).toBe(1);
  expect(answers[0]?.json).toMatchObject({ __txid: id(2), source: 'mount' });
});

test('a directory that hangs costs a token one deadline, then none, and is read again when it answers', async () => {
  const dir = tempDir();
  put(dir, 'a', 2);
  // A pipe that nobody writes to holds the thread that opens it, as a file of a mount does whose node is gone.
  execFileSync('mkfifo', [join(dir, 'hung-pos')]);
  const node = createMountedNode(dir, Date.now);
  const begun_ms = performance.now();
  const late = await Promise.allSettled([node.read('hung'), node.read('a')]);
  const took_ms = performance.now() - begun_ms;
  expect(late.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(node.read('a')).rejects.toThrow(`${dir} does not answer`);
  expect(performance.now() - begun_ms - took_ms).toBeLessThan(took_ms / 2);
  writeFileSync(join(dir, 'hung-pos'), '');
  expect(await eventually(() => node.read('a').catch(() => undefined))).toMatchObject({ txID: id(2) });
});

test('a directory that is not there is said, and the stream is followed all the same', async () => {
  const dir = join(tempDir(), 'nothing');
  const { agent, connection, node } = await follow(dir);
  await eventually(() => agent.part().state === 'degraded');
  expect(agent.part().reason).toMatch(/^REMORA_LITEFS_DIR cannot be read: .*ENOENT/);
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  mkdirSync(dir);
  put(dir, 'a', 1);
  connection.cut();
  (await node.next()).open();
  await eventually(() => agent.part().state === 'ok');
});
