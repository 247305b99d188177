// litefs-js, unmodified, against the directory that the agent keeps by setting.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  checkCookieForTransactionalConsistency,
  getInstanceInfo,
  getInstanceInfoSync,
  getTxNumber,
  getTxSetCookieHeader,
  waitForUpToDateTxNumber,
} from 'litefs-js';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { createPositionsDirectory } from '../../../../src/agent/replication/mount/positions-directory.ts';
import { createReplica } from '../../../../src/agent/replication/replica.ts';
import { eventually } from '../../../support/eventually.ts';
import { readIfThere } from '../../../support/read-if-there.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';
import { tempDir } from '../../../support/temp-dir.ts';

afterEach(() => {
  vi.unstubAllEnvs();
});

async function follow(positionsDir = join(tempDir(), 'litefs')) {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, positionsDir });
  const connection = await node.next();
  connection.open({ type: 'init', data: { isPrimary: false, hostname: 'other:20202' } });
  await agent.connected();
  const file = (name: string) => readIfThere(join(positionsDir, name));
  const reaches = (name: string, text: string | undefined) => eventually(() => file(name) === text);
  vi.stubEnv('LITEFS_DIR', positionsDir);
  vi.stubEnv('DATABASE_FILENAME', 'my.db');
  return { node, agent, connection, dir: positionsDir, file, reaches };
}

const pos = (n: number) => {
  const id = n.toString(16).padStart(16, '0');
  return `${id}/c${id.slice(1)}\n`;
};

test('it knows the primary, and follows it', async () => {
  const { connection, reaches } = await follow();
  await reaches('.primary', 'other:20202\n');
  const info = { primaryInstance: 'other:20202', currentInstance: hostname(), currentIsPrimary: false };
  expect(await getInstanceInfo()).toEqual(info);
  expect(getInstanceInfoSync()).toEqual(info);
  connection.send({ type: 'primaryChange', data: { isPrimary: true } });
  await reaches('.primary', undefined);
  expect(await getInstanceInfo()).toMatchObject({ primaryInstance: hostname(), currentIsPrimary: true });
});

test('a replica does not become a primary because its node is away, or knows nobody', async () => {
  const { agent, connection, node, reaches } = await follow();
  await reaches('.primary', 'other:20202\n');
  connection.send({ type: 'primaryChange', data: { isPrimary: false } }, tx('my.db', 1));
  await reaches('my.db-pos', pos(1));
  expect(await getInstanceInfo()).toMatchObject({ primaryInstance: 'other:20202', currentIsPrimary: false });
  await node.stop();
  await eventually(() => agent.replication.status().primary === 'unknown');
  await agent.stop();
  expect(await getInstanceInfo()).toMatchObject({ currentIsPrimary: false });
});

test('it reads the transaction number, and its cookie is one that wait takes', async () => {
  const { agent, connection, reaches } = await follow();
  connection.send(tx('my.db', 0x27));
  await reaches('my.db-pos', pos(0x27));
  expect(await getTxNumber()).toBe(39);
  const { json } = await agent.get('/v1/replication/my.db/token');
  expect(json).toMatchObject({ txnum: String(await getTxNumber()) });
  const cookie = getTxSetCookieHeader(await getTxNumber()).split(';')[0] ?? '';
  const answer = await agent.get(`/v1/replication/my.db/wait?timeout=0&cookie=${encodeURIComponent(cookie)}`);
  expect(answer).toMatchObject({ status: 200, json: { txID: '0000000000000027' } });
  expect(await waitForUpToDateTxNumber(39)).toBe(true);
  expect(await checkCookieForTransactionalConsistency('txnum=39')).toMatchObject({ type: 'delete-cookie' });
});

test('a reader that is ahead is sent to the primary by it, where wait would have been enough', async () => {
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const { agent, connection, reaches } = await follow();
  connection.send(tx('my.db', 1));
  await reaches('my.db-pos', pos(1));
  await reaches('.primary', 'other:20202\n');
  const wait = agent.get('/v1/replication/my.db/wait?cookie=txnum%3D2');
  expect(await checkCookieForTransactionalConsistency('txnum=2')).toMatchObject({
    type: 'replay',
    instance: 'other:20202',
  });
  connection.send(tx('my.db', 2));
  expect((await wait).status).toBe(200);
  said.mockRestore();
});

test('a database that is dropped, or of another cluster, has no file any more', async () => {
  const { connection, node, reaches } = await follow();
  connection.send(tx('my.db', 1), tx('other', 1));
  await reaches('my.db-pos', pos(1));
  await reaches('other-pos', pos(1));
  connection.send(tx('my.db', 2, { commit: 0 }));
  await reaches('my.db-pos', undefined);
  connection.end();
  const second = await node.next();
  second.open(undefined, { 'litefs-cluster-id': 'ONE' });
  second.send(tx('my.db', 3));
  await reaches('my.db-pos', pos(3));
  second.end();
  (await node.next()).open(undefined, { 'litefs-cluster-id': 'TWO' });
  await reaches('my.db-pos', undefined);
  await reaches('other-pos', undefined);
});

test('nobody ever reads half of a file, and a flood is few writes', async () => {
  const { connection, dir, file, reaches } = await follow();
  const seen = new Set<string>();
  const look = setInterval(() => {
    const text = file('my.db-pos');
    if (text !== undefined) seen.add(text);
  }, 1);
  onTestFinished(() => clearInterval(look));
  const begun = performance.now();
  for (let n = 1; n <= 20_000; n += 500) {
    connection.send(...Array.from({ length: 500 }, (_, at) => tx('my.db', n + at)));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await reaches('my.db-pos', pos(20_000));
  const elapsed_ms = performance.now() - begun;
  for (const text of seen) expect(text).toMatch(/^[0-9a-f]{16}\/[0-9a-f]{16}\n$/);
  // One write in 20 ms; the transactions come far faster, and a machine with other work takes longer for them.
  expect(seen.size).toBeLessThan(elapsed_ms / 10);
  expect(readdirSync(dir).sort()).toEqual(['.primary', 'my.db-pos']);
});

test('a name that would lead out of the directory is no file', async () => {
  const outer = tempDir();
  const { connection, reaches } = await follow(join(outer, 'inner'));
  connection.send(tx('../escape', 1), tx('/etc/x', 1), tx('my.db', 1));
  await reaches('my.db-pos', pos(1));
  expect(readdirSync(outer)).toEqual(['inner']);
});

test('a directory that cannot be written is said, and all else serves', async () => {
  const path = join(tempDir(), 'litefs');
  writeFileSync(path, 'a file');
  const { agent, connection } = await follow(path);
  connection.send(tx('my.db', 1));
  await eventually(() => agent.part().state === 'degraded');
  expect(agent.part().reason).toMatch(/^REMORA_POSITIONS_DIR cannot be written: /);
  expect((await agent.get('/v1/replication/my.db')).json).toMatchObject({ state: 'live' });
});

test('it is written once it can be', async () => {
  const path = join(tempDir(), 'litefs');
  writeFileSync(path, 'a file');
  const replica = createReplica(0);
  replica.setPrimary({ type: 'remote', hostname: 'b' }, 0);
  const said: (string | undefined)[] = [];
  const directory = createPositionsDirectory({ path, replica, retry_ms: 20, onTrouble: (reason) => said.push(reason) });
  onTestFinished(() => directory[Symbol.asyncDispose]());
  directory.primaryChanged();
  await eventually(() => said.at(-1) !== undefined);
  rmSync(path);
  await eventually(() => said.at(-1) === undefined);
  expect(readFileSync(join(path, '.primary'), 'utf8')).toBe('b\n');
});

test('the files may be read by everybody whatever the mask is, and no link in their place is followed', async () => {
  const root = tempDir();
  const path = join(root, 'made', 'litefs');
  const replica = createReplica(0);
  replica.setPrimary({ type: 'remote', hostname: 'b' }, 0);
  const said: (string | undefined)[] = [];
  const mask = process.umask(0o077);
  onTestFinished(() => void process.umask(mask));
  const directory = createPositionsDirectory({ path, replica, retry_ms: 20, onTrouble: (reason) => said.push(reason) });
  onTestFinished(() => directory[Symbol.asyncDispose]());
  directory.primaryChanged();
  const modeOf = (name: string) => (statSync(join(root, 'made', name)).mode & 0o777).toString(8);
  await eventually(() => existsSync(join(path, '.primary')));
  expect([modeOf('.'), modeOf('litefs'), modeOf('litefs/.primary')]).toEqual(['755', '755', '644']);

  const victim = join(root, 'victim');
  writeFileSync(victim, 'precious');
  symlinkSync(victim, join(path, '.remora-new'));
  replica.setPrimary({ type: 'remote', hostname: 'c' }, 0);
  directory.primaryChanged();
  await eventually(() => readIfThere(join(path, '.primary')) === 'c\n');
  expect(readFileSync(victim, 'utf8')).toBe('precious');

  chmodSync(path, 0o777);
  replica.setPrimary({ type: 'remote', hostname: 'd' }, 0);
  directory.primaryChanged();
  await eventually(() => said.at(-1) !== undefined);
  expect(said.at(-1)).toMatch(/nothing is written to .*others may write/);
  expect(readFileSync(join(path, '.primary'), 'utf8')).toBe('c\n');
});

test('the mount itself is not written', async () => {
  const dir = tempDir();
  mkdirSync(join(dir, 'x'));
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, litefsDir: dir, positionsDir: `${dir}/x/..` });
  const connection = await node.next();
  connection.open();
  connection.send(tx('my.db', 1));
  await agent.reaches('my.db', 1);
  expect(agent.part()).toMatchObject({ state: 'degraded', reason: expect.stringMatching(/is REMORA_LITEFS_DIR/) });
  expect(readdirSync(dir)).toEqual(['x']);
});
