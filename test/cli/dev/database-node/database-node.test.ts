import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import Database from 'better-sqlite3';
import { expect, it, onTestFinished } from 'vitest';
import { type DatabaseNodeOptions, openDatabaseNode } from '../../../../src/cli/dev/database-node/database-node.ts';
import { toChecksumText, toPageChecksum, xorChecksum } from '../../../../src/cli/dev/database-node/litefs-checksum.ts';
import { txEvent } from '../../../../src/contract/replication.ts';
import { readLines } from '../../../support/read-lines.ts';
import { tempDir } from '../../../support/temp-dir.ts';

async function openNode(options: Partial<DatabaseNodeOptions> = {}) {
  const node = await openDatabaseNode({ dir: tempDir(), port: 0, interval_ms: 0, ...options });
  onTestFinished(() => node[Symbol.asyncDispose]());
  return node;
}

/** A transaction by a program that knows nothing of the node. */
async function writeFromOutside(path: string, sql: string): Promise<void> {
  const packageUrl = import.meta.resolve('better-sqlite3');
  const script = `import(${JSON.stringify(packageUrl)}).then(({ default: Database }) => new Database(${JSON.stringify(path)}).exec(${JSON.stringify(sql)}))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  expect(code).toBe(0);
}

function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
}

/** What the file itself says, read byte by byte. */
function readFacts(path: string) {
  const bytes = readFileSync(path);
  const pageSize = bytes.readUInt16BE(16);
  let sum = { high: 0, low: 0 };
  for (let index = 0; index < bytes.length / pageSize; index += 1) {
    sum = xorChecksum(sum, toPageChecksum(index + 1, bytes.subarray(index * pageSize, (index + 1) * pageSize)));
  }
  return {
    txID: bytes.readUInt32BE(24).toString(16).padStart(16, '0'),
    postApplyChecksum: toChecksumText(sum),
    pageSize,
    commit: bytes.length / pageSize,
  };
}

it('begins with init and answers as a real node does', async () => {
  const node = await openNode();
  const reader = await readLines(`${node.url}/events`);
  expect(reader.response.statusCode).toBe(200);
  expect(reader.response.headers['content-type']).toBe('application/json');
  expect(reader.response.headers['transfer-encoding']).toBe('chunked');
  expect(reader.response.headers['litefs-id']).toMatch(/^[0-9A-F]{16}$/);
  expect(await reader.next()).toEqual({ type: 'init', data: { isPrimary: true } });
  const refused = await fetch(`${node.url}/events`, { method: 'POST' });
  expect(refused.status).toBe(405);
  expect((await fetch(`${node.url}/nothing`)).status).toBe(404);
  expect(await (await fetch(`${node.url}/info`)).json()).toMatchObject({ isPrimary: true });
});

it('reports each of its own writes with what the file says', async () => {
  const node = await openNode({ interval_ms: 30 });
  const reader = await readLines(`${node.url}/events`);
  await reader.next();
  let last = txEvent.parse(await reader.next()).data.txID;
  for (let count = 0; count < 5; count += 1) {
    const event = txEvent.parse(await reader.next());
    expect(event.db).toBe('app.db');
    expect(BigInt(`0x${event.data.txID}`)).toBe(BigInt(`0x${last}`) + 1n);
    last = event.data.txID;
  }
  const db = new Database(node.databasePath, { readonly: true });
  onTestFinished(() => void db.close());
  expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
  expect(db.pragma('journal_mode', { simple: true })).toBe('delete');
});

it('reports the transaction of another program, with the id, size and checksum that are in the file', async () => {
  const node = await openNode();
  const reader = await readLines(`${node.url}/events`);
  await reader.next();
  const before = readFacts(node.databasePath);
  await writeFromOutside(node.databasePath, 'CREATE TABLE note (text TEXT)');
  const created = txEvent.parse(await reader.next()).data;
  expect(created).toMatchObject(readFacts(node.databasePath));
  expect(BigInt(`0x${created.txID}`)).toBe(BigInt(`0x${before.txID}`) + 1n);

  await writeFromOutside(node.databasePath, "INSERT INTO note VALUES (printf('%.20000c', 'x'))");
  const grown = txEvent.parse(await reader.next()).data;
  expect(grown).toMatchObject(readFacts(node.databasePath));
  expect(grown.commit).toBeGreaterThan(created.commit);
  expect(Math.abs(Date.parse(grown.timestamp) - Date.now())).toBeLessThan(60_000);
});

it('tells every reader of a change of role, and new ones from the first line', async () => {
  const node = await openNode({ role: { role: 'replica', hostname: 'db-1:20202' } });
  const reader = await readLines(`${node.url}/events`);
  expect(await reader.next()).toEqual({ type: 'init', data: { isPrimary: false, hostname: 'db-1:20202' } });
  expect((await post(`${node.url}/role`, { role: 'primary' })).status).toBe(200);
  expect(await reader.next()).toEqual({ type: 'primaryChange', data: { isPrimary: true } });
  expect((await post(`${node.url}/role`, { role: 'replica' })).status).toBe(200);
  expect(await reader.next()).toEqual({ type: 'primaryChange', data: { isPrimary: false } });
  const late = await readLines(`${node.url}/events`);
  expect(await late.next()).toEqual({ type: 'init', data: { isPrimary: false } });
  expect((await post(`${node.url}/role`, { role: 'king' })).status).toBe(400);
  expect((await post(`${node.url}/role`, { role: 'primary', hostname: 'x' })).status).toBe(400);
});

it('goes on writing as a replica, as transactions of a primary would arrive', async () => {
  const node = await openNode({ interval_ms: 20, role: { role: 'replica', hostname: 'db-1:20202' } });
  const reader = await readLines(`${node.url}/events`);
  await reader.next();
  expect(txEvent.parse(await reader.next()).db).toBe('app.db');
});

it('goes on counting where the file stopped when it is opened again', async () => {
  const dir = tempDir();
  const first = await openDatabaseNode({ dir, port: 0, interval_ms: 20 });
  const reader = await readLines(`${first.url}/events`);
  await reader.next();
  await reader.next();
  await first[Symbol.asyncDispose]();
  expect(await reader.ended).toBe('end');
  const stopped = BigInt(`0x${readFacts(first.databasePath).txID}`);
  const second = await openNode({ dir, interval_ms: 20 });
  const again = await readLines(`${second.url}/events`);
  await again.next();
  const event = txEvent.parse(await again.next());
  expect(BigInt(`0x${event.data.txID}`)).toBeGreaterThan(stopped);
  expect(again.response.headers['litefs-id']).not.toBe(reader.response.headers['litefs-id']);
});

it('leaves its port for a while when asked to restart, and comes back as another node', async () => {
  const node = await openNode({ interval_ms: 20 });
  const reader = await readLines(`${node.url}/events`);
  await reader.next();
  const answer = await post(`${node.url}/restart`, { down_ms: 200 });
  expect(await answer.json()).toEqual({ down_ms: 200 });
  expect(await reader.ended).toBe('end');
  await expect.poll(() => refuses(node.url), { interval: 5 }).toBe(true);
  await expect.poll(() => refuses(node.url), { interval: 20 }).toBe(false);
  const again = await readLines(`${node.url}/events`);
  expect(await again.next()).toMatchObject({ type: 'init' });
  expect(again.response.headers['litefs-id']).not.toBe(reader.response.headers['litefs-id']);
  expect(txEvent.parse(await again.next()).db).toBe('app.db');
});

it('cuts a reader that is more than 1024 events behind by a normal end, and nobody else', async () => {
  const node = await openNode();
  const reader = await readLines(`${node.url}/events`);
  await reader.next();
  const slow = connect(Number(new URL(node.url).port), '127.0.0.1');
  onTestFinished(() => void slow.destroy());
  slow.write('GET /events HTTP/1.1\r\nHost: node\r\n\r\n');
  await once(slow, 'readable');
  // A long hostname fills the buffers of the kernel within a bearable number of events.
  const hostname = 'h'.repeat(16_000);
  for (let count = 0; count < 2_000; count += 1) {
    node.setRole({ role: 'replica', hostname });
    await reader.next();
  }
  let received = Buffer.alloc(0);
  slow.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received.subarray(-64), chunk]);
  });
  await expect.poll(() => received.subarray(-5).toString('latin1')).toBe('0\r\n\r\n');
});

it('says that a file was switched to WAL', async () => {
  const messages: string[] = [];
  const node = await openNode({ log: (message) => messages.push(message) });
  const db = new Database(node.databasePath);
  onTestFinished(() => void db.close());
  db.pragma('journal_mode = WAL');
  await expect.poll(() => messages).toEqual([expect.stringMatching(/switched to WAL/)]);
});

function refuses(url: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.once('connect', () => resolve(false));
    socket.once('error', () => resolve(true));
    socket.once('connect', () => socket.destroy());
  });
}

it('refuses a file that is no database, and a port that is taken', async () => {
  await using first = await openDatabaseNode({ dir: tempDir(), port: 0, interval_ms: 0 });
  const port = Number(new URL(first.url).port);
  await expect(openDatabaseNode({ dir: tempDir(), port, interval_ms: 0 })).rejects.toMatchObject({
    code: 'address_in_use',
  });
  const dir = tempDir();
  const path = `${dir}/app.db`;
  writeFileSync(path, 'x'.repeat(5_000));
  await expect(openDatabaseNode({ dir, port: 0, interval_ms: 0 })).rejects.toThrow(/not a database/);
});
