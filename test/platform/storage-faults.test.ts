// A platform that is killed while it writes, whose disk is full, or whose rows are damaged.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { Secret } from '../../src/core/secret.ts';
import { openOfflineAdmin } from '../../src/platform/offline-admin.ts';
import { ask } from '../support/ask.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { silentLog } from '../support/silent-log.ts';
import { tempDir } from '../support/temp-dir.ts';

const writer = new URL('../support/platform-writer.ts', import.meta.url).pathname;
const written = z.object({ name: z.string(), statuses: z.array(z.int()), answer: z.string() });
const refused = z.object({ refused: z.int(), list: z.int(), retryAfter: z.string() });

/** `limit`: the largest file that the process may write, in blocks of 1024 bytes. */
function startWriter(dir: string, limit?: number) {
  const command = `${limit === undefined ? '' : `ulimit -f ${limit}; `}exec "$0" "$@"`;
  const child = spawn('bash', ['-c', command, process.execPath, writer, dir], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, lines: createInterface(child.stdout)[Symbol.asyncIterator]() };
}

test('what was answered is there after a kill -9 in the middle of writes, again and again', async () => {
  const dir = tempDir();
  const names: string[] = [];
  for (let round = 0; round < 3; round += 1) {
    const { child, lines } = startWriter(dir);
    for (let count = 0; count < 8; count += 1) {
      const line = written.parse(JSON.parse(String((await lines.next()).value)));
      expect(line.statuses).toEqual([201, 201]);
      names.push(line.name);
    }
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  const platform = await openTestPlatform({ dir });
  const { json } = await platform.call({ path: '/v1/sprites?max_results=500' });
  const found = new Set(json.sprites.map((sprite: { name: string }) => sprite.name));
  expect(names.filter((name) => !found.has(name))).toEqual([]);
  const connectors = await platform.call({ path: '/v1/oauth/connections' });
  expect(connectors.json.connections.length).toBeGreaterThanOrEqual(names.length);
});

test('a full disk refuses writes as not_ready, goes on reading, and loses nothing', async () => {
  const dir = tempDir();
  const { child, lines } = startWriter(dir, 1024);
  const names: string[] = [];
  let last: z.infer<typeof written> | undefined;
  for (;;) {
    const line = String((await lines.next()).value);
    const entry = written.safeParse(JSON.parse(line));
    if (!entry.success) {
      expect(refused.parse(JSON.parse(line))).toEqual({ refused: 503, list: 200, retryAfter: '5' });
      break;
    }
    last = entry.data;
    if (entry.data.statuses[0] === 201) names.push(entry.data.name);
  }
  expect(JSON.parse(last?.answer ?? '')).toMatchObject({ error: 'not_ready' });
  expect(names.length).toBeGreaterThan(3);
  if (child.exitCode === null) await once(child, 'exit');
  const platform = await openTestPlatform({ dir });
  const { json } = await platform.call({ path: '/v1/sprites?max_results=500' });
  const found = new Set(json.sprites.map((sprite: { name: string }) => sprite.name));
  expect(names.filter((name) => !found.has(name))).toEqual([]);
});

test('a database that another process keeps locked is not_ready to the operator of a platform that does not run', async () => {
  const dir = tempDir();
  await (await openTestPlatform({ dir }))[Symbol.asyncDispose]();
  await using offline = await openOfflineAdmin({ dir, keys: [], platformUrl: 'http://127.0.0.1:1', log: silentLog });
  const path = join(dir, 'operator.sock');
  await using _served = await offline.serveOn(path);
  const other = new Database(join(dir, 'platform.db'));
  onTestFinished(() => void other.close());
  other.exec('BEGIN IMMEDIATE');
  const headers = { 'content-type': 'application/json' };
  const create = { method: 'POST', target: '/v1/organizations', headers, body: JSON.stringify({ name: 'beta' }) };
  const answer = await ask(path, create);
  expect(answer).toMatchObject({ status: 503, json: { error: 'not_ready' }, headers: { 'retry-after': '5' } });
  other.exec('ROLLBACK');
  expect(await ask(path, create)).toMatchObject({ status: 201, json: { name: 'beta' } });
});

test('a damaged row is shown closed and takes neither the list nor the others along', async () => {
  const platform = await openTestPlatform();
  const url_settings = { auth: 'public' } as const;
  for (const name of ['a', 'b', 'c']) {
    await platform.admin.createSprite({ organization: 'acme', name, labels: ['x'], url_settings });
  }
  const token = await platform.admin.createToken({ organization: 'acme', access: 'full' });
  const db = new Database(join(platform.dir, 'platform.db'));
  db.exec("UPDATE sprites SET labels = '{', url_settings = '[1]' WHERE name = 'b'");
  db.exec("UPDATE tokens SET access = 'nonsense'");
  db.close();
  const { json } = await platform.call({ path: '/v1/sprites' });
  expect(json.sprites.map((one: { url_settings: { auth: string } }) => one.url_settings.auth)).toEqual([
    'public',
    'sprite',
    'public',
  ]);
  expect(json.sprites[1]).not.toHaveProperty('labels');
  const body = { name: 'd' };
  expect((await platform.call({ method: 'POST', path: '/v1/sprites', body, token })).status).toBe(403);
});

test('a damaged record of a machine keeps nothing from starting, and the machine counts as stopped', async () => {
  const first = await openTestPlatform();
  for (const name of ['a', 'b']) await first.admin.createSprite({ organization: 'acme', name });
  await first[Symbol.asyncDispose]();
  const db = new Database(join(first.dir, 'platform.db'));
  db.exec(`UPDATE machines SET config = '{', state = 'nonsense', last_exit = '7'
           WHERE sprite_id = (SELECT id FROM sprites WHERE name = 'b')`);
  db.close();
  const platform = await openTestPlatform({ dir: first.dir });
  const { json } = await platform.call({ path: '/v1/sprites' });
  expect(json.sprites.map((one: { status: string }) => one.status)).toEqual(['cold', 'cold']);
  const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'b' });
  expect((await platform.call({ path: `/v1/apps/acme/machines/${id}` })).json).toMatchObject({ state: 'stopped' });
});

test('a credential that is damaged opens nothing, says so, and leaves the other connectors alone', async () => {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({ catalogue: [provider.entry('sample')] });
  const access_policy = { allow_all: true };
  for (const id of ['conn_1', 'conn_2', 'conn_3']) {
    const api_key = new Secret('k');
    await platform.admin.createConnector({ organization: 'acme', provider: 'sample', id, api_key, access_policy });
  }
  await platform.admin.createSprite({ organization: 'acme', name: 'a' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'a' });
  const db = new Database(join(platform.dir, 'platform.db'));
  db.exec("UPDATE connectors SET secret = x'00' WHERE id = 'conn_1'");
  db.exec("UPDATE connectors SET access_policy = '{\"allow_all\":tru' WHERE id = 'conn_2'");
  db.close();
  const use = async (id: string) => (await platform.call({ path: `/v1/gateway/sample/${id}/x`, token })).json?.error;
  expect([await use('conn_1'), await use('conn_2'), await use('conn_3')]).toEqual([
    'record_altered',
    'connection_denied',
    undefined,
  ]);
  expect(provider.requests).toHaveLength(1);
  const { json } = await platform.call({ path: '/v1/oauth/connections' });
  expect(json.connections).toHaveLength(3);
  expect(json.connections[1]).not.toHaveProperty('access_policy');
  const body = { url: '/v1/gateway/sample/conn_1/x' };
  const explained = await platform.call({ method: 'POST', path: '/v1/gateway/explain', body, token });
  expect(explained.json).toMatchObject({ decision: 'reject', code: 'record_altered', forwarded: null });
  expect((await platform.call({ method: 'DELETE', path: '/v1/oauth/connections/conn_1' })).status).toBe(204);
});
