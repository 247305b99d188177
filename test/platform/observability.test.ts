// What an operator needs: keys that are changed, copies, figures and a log, while the platform serves.
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createPlatformLog } from '../../src/platform/observability/platform-log.ts';
import { openOfflineAdmin } from '../../src/platform/offline-admin.ts';
import { backupDatabase } from '../../src/sqlite/backup.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform, TEST_KEY } from '../support/open-platform.ts';
import { silentLog } from '../support/silent-log.ts';

const NEW_KEY = new Secret('cd'.repeat(32));

function openAdmin(dir: string, keys: readonly Secret[]) {
  return openOfflineAdmin({ dir, keys, platformUrl: 'http://127.0.0.1:1', log: silentLog });
}

async function openWithConnectors(count: number, keys: readonly Secret[] = [TEST_KEY], dir = memoryDir()) {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({ dir, keys, catalogue: [provider.entry('sample')] });
  const known = (await platform.admin.listConnectors('acme')).length;
  for (let index = known; index < count; index += 1) {
    await platform.admin.createConnector({
      organization: 'acme',
      provider: 'sample',
      id: `conn_${String(index).padStart(4, '0')}`,
      api_key: new Secret(`key-${index}`),
      access_policy: { allow_all: true },
    });
  }
  if ((await platform.admin.findSprite({ organization: 'acme', sprite: 'dev-1' })) === undefined) {
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  }
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const use = async (index: number) =>
    (await platform.call({ path: `/v1/gateway/sample/conn_${String(index).padStart(4, '0')}/x`, token })).status;
  return { platform, provider, use, dir };
}

describe('a rotation of vault keys', () => {
  test('closes everything with the new key while the platform serves; then the old key can go', async () => {
    const first = await openWithConnectors(250);
    await first.platform[Symbol.asyncDispose]();
    const { dir } = first;
    const serving = await openWithConnectors(250, [NEW_KEY, TEST_KEY], dir);
    await using offline = await openAdmin(dir, [NEW_KEY, TEST_KEY]);
    expect(await offline.rotateKeys()).toEqual({ rotated: 250, unreadable: [] });
    expect(await offline.rotateKeys()).toEqual({ rotated: 0, unreadable: [] });
    expect(await serving.use(7)).toBe(200);
    expect(serving.provider.requests.at(-1)).toContain('Bearer key-7');
    await serving.platform[Symbol.asyncDispose]();
    const last = await openWithConnectors(250, [NEW_KEY], dir);
    expect(await last.use(249)).toBe(200);
  });

  test('that was broken off goes on, and leaves what does not open and names it', async () => {
    const { platform, dir } = await openWithConnectors(5);
    await platform[Symbol.asyncDispose]();
    const db = new Database(join(dir, 'platform.db'));
    db.exec(`CREATE TRIGGER broken BEFORE UPDATE OF key_id ON connectors WHEN OLD.id = 'conn_0003'
             BEGIN SELECT RAISE(ABORT, 'killed here'); END`);
    db.exec("UPDATE connectors SET data_key = x'00' WHERE id = 'conn_0001'");
    await using offline = await openAdmin(dir, [NEW_KEY, TEST_KEY]);
    await expect(offline.rotateKeys()).rejects.toThrow('killed here');
    const left = () =>
      db
        .prepare<[], { id: string }>(`SELECT id FROM connectors WHERE key_id <> (SELECT key_id FROM connectors
        WHERE id = 'conn_0000') ORDER BY id`)
        .all();
    expect(left().map(({ id }) => id)).toEqual(['conn_0001', 'conn_0003', 'conn_0004']);
    db.exec('DROP TRIGGER broken');
    expect(await offline.rotateKeys()).toEqual({ rotated: 2, unreadable: [{ source: 'connectors', id: 'conn_0001' }] });
    expect(left().map(({ id }) => id)).toEqual(['conn_0001']);
    db.close();
  });

  test('takes authorizations that nobody can finish along when the old key goes', async () => {
    const dir = memoryDir();
    const oauth = await startOAuthProvider();
    const options = { dir, catalogue: [oauth.entry('hub')], oauthClients: [oauth.client('hub')] };
    const first = await openTestPlatform(options);
    const { json } = await first.call({ path: '/v1/oauth/hub/authorize' });
    await first[Symbol.asyncDispose]();
    const second = await openTestPlatform({ ...options, keys: [NEW_KEY] });
    const body = { code: oauth.agree(json.authorize_url), state: json.state };
    const answer = await second.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
    expect([answer.status, answer.json.details.fields[0].field]).toEqual([400, 'body.state']);
  });

  test('to a key that the running platform does not have is refused', async () => {
    const { dir, use } = await openWithConnectors(1);
    await using offline = await openAdmin(dir, [NEW_KEY, TEST_KEY]);
    await expect(offline.rotateKeys()).rejects.toThrow(/runs here without the vault key [0-9a-f]{8}/);
    expect(await use(0)).toBe(200);
  });

  test('needs no key to be there for records that are no secret, and one for those that are', async () => {
    const { dir } = await openWithConnectors(1);
    await using offline = await openAdmin(dir, []);
    expect((await offline.admin.listSprites('acme')).map(({ name }) => name)).toEqual(['dev-1']);
    await expect(offline.rotateKeys()).rejects.toThrow('vault key');
    await expect(openAdmin(memoryDir(), [])).rejects.toThrow('there is no platform');
  });
});

test('a token that is revoked beside the platform ends the call that is under way with it', async () => {
  const server = createServer((_request, response) => void response.writeHead(200).write('first'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const provider = await startEchoProvider();
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const platform = await openTestPlatform({
    catalogue: [provider.entry('sample', { address: { type: 'fixed', url } })],
  });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const api_key = new Secret('k');
  const access_policy = { allow_all: true };
  await platform.admin.createConnector({
    organization: 'acme',
    provider: 'sample',
    id: 'conn_1',
    api_key,
    access_policy,
  });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1', name: 'mine' });
  const headers = { authorization: `Bearer ${token.reveal()}` };
  const open = await fetch(`${platform.url}/v1/gateway/sample/conn_1/x`, { headers });
  const reader = open.body?.getReader();
  expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('first');
  await using offline = await openAdmin(platform.dir, []);
  const id = (await offline.admin.listTokens('acme')).find(({ name }) => name === 'mine')?.id ?? '';
  await offline.admin.revokeToken('acme', id);
  await expect(reader?.read()).rejects.toThrow();
});

describe('a backup', () => {
  test('of a platform that is being written to is whole, private, and opens as a platform', async () => {
    const { platform, dir } = await openWithConnectors(3);
    const target = join(memoryDir(), 'copy.db');
    const writing = Array.from({ length: 40 }, (_, index) =>
      platform.call({ method: 'POST', path: '/v1/sprites', body: { name: `w-${index}` } }),
    );
    const report = await backupDatabase(join(dir, 'platform.db'), target);
    await Promise.all(writing);
    expect(report.bytes).toBe(statSync(target).size);
    expect(statSync(target).mode & 0o777).toBe(0o600);
    await expect(backupDatabase(join(dir, 'platform.db'), target)).rejects.toMatchObject({ code: 'already_exists' });
    await expect(backupDatabase(join(memoryDir(), 'x.db'), join(memoryDir(), 'x'))).rejects.toMatchObject({
      code: 'not_found',
    });
    expect(existsSync(`${target}.partial`)).toBe(false);
    const copy = join(memoryDir(), 'p');
    mkdirSync(copy);
    copyFileSync(target, join(copy, 'platform.db'));
    const restored = await openWithConnectors(3, [TEST_KEY], copy);
    expect(await restored.use(2)).toBe(200);
    expect((await restored.platform.call({ path: '/v1/sprites', token: platform.token })).status).toBe(200);
  });
});

describe('the figures', () => {
  test('count calls by operation and status, and records, without a name in them', async () => {
    const { platform } = await openWithConnectors(2);
    await platform.call({ path: '/v1/sprites' });
    await platform.call({ path: '/v1/sprites/none' });
    await platform.call({ path: '/nowhere' });
    const text = await eventually(async () => {
      const answer = await platform.call({ path: '/metrics', token: undefined });
      return answer.text.includes('operation="none",status="404"') ? answer.text : undefined;
    });
    expect(text).toContain('remora_platform_calls_total{operation="listSprites",status="200"} 1');
    expect(text).toContain('remora_platform_calls_total{operation="readSprite",status="404"} 1');
    expect(text).toContain('remora_platform_connectors{type="api_key"} 2');
    expect(text).toContain('remora_platform_machines{state="stopped"} 1');
    expect(text).not.toMatch(/acme|dev-1|conn_0/);
  });
});

/** Other lines name the operation too, as that of one that held the event loop. */
const isCallOf = (name: string) => (line: Record<string, unknown>) =>
  line.message === 'call' && line.operation === name;

describe('the log', () => {
  test('has a line for each call with who and what, by the path of its row', async () => {
    const { platform } = await openWithConnectors(1);
    await platform.call({ path: '/v1/sprites/secret-name?token=of-the-query' });
    const line = await eventually(() => platform.log.find(isCallOf('readSprite')));
    expect(line).toMatchObject({
      message: 'call',
      method: 'GET',
      path: '/v1/sprites/{name}',
      status: 404,
      organization: 'acme',
      token: expect.stringMatching(/^tok_/),
    });
    expect(JSON.stringify(platform.log)).not.toContain('of-the-query');
  });

  test('has a line for a call that asks before it sends its body', async () => {
    const platform = await openTestPlatform();
    const body = JSON.stringify({ name: 'asked' });
    const headers = {
      authorization: `Bearer ${platform.token.reveal()}`,
      'content-type': 'application/json',
      'content-length': body.length,
      expect: '100-continue',
    };
    const call = request(`${platform.url}/v1/sprites`, { method: 'POST', headers });
    call.once('continue', () => call.end(body));
    call.flushHeaders();
    const [answer] = await once(call, 'response');
    answer.resume();
    expect(answer.statusCode).toBe(201);
    const line = await eventually(() => platform.log.find(isCallOf('createSprite')));
    expect(line).toMatchObject({ message: 'call', method: 'POST', status: 201, organization: 'acme' });
  });

  test('prints no credential, wherever it lies', () => {
    const lines: string[] = [];
    const written = createPlatformLog('info', { write: (line) => void lines.push(line) });
    const cause = Object.assign(new Error('inner'), { response: { access_token: 'hunter2' } });
    const err = Object.assign(new Error('outer', { cause }), { code: 'E_X', headers: { authorization: 'hunter2' } });
    written.error(
      { err, authorization: 'hunter2', request: { headers: 'hunter2', body: { api_key: 'hunter2' } } },
      'x',
    );
    written.info({ key: new Secret('hunter2'), deep: { one: { client_secret: 'hunter2' } } }, 'y');
    expect(lines.join('')).not.toContain('hunter2');
    expect(JSON.parse(lines[0] ?? '').err).toMatchObject({
      message: 'outer',
      code: 'E_X',
      cause: { message: 'inner' },
    });
  });

  test.each([
    'authorization',
    'api_key',
    'access_token',
    'refresh_token',
    'client_secret',
    'cookie',
    'headers',
    'body',
  ])('prints no %s at the top and two levels below, whatever else the line has', (name) => {
    const lines: string[] = [];
    const written = createPlatformLog('info', { write: (line) => void lines.push(line) });
    const secrets = ['hunter2', 2_222_222, true, ['hunter2'], { some: 'hunter2' }];
    for (const secret of secrets) {
      for (const fields of [{ [name]: secret }, { one: { [name]: secret } }, { one: { two: { [name]: secret } } }]) {
        written.info(fields, 'alone');
        written.warn({ status: 200, path: '/v1/x', nothing: null, ...fields, last: undefined }, 'beside others');
      }
    }
    expect(lines.length).toBe(6 * secrets.length);
    for (const line of lines) expect(line).toContain(`"${name}":"[secret]"`);
    expect(lines.join('')).not.toMatch(/hunter2|2222222|true/);
  });

  test('a line of texts and numbers is the same as one that was redacted', () => {
    const lines: string[] = [];
    const written = createPlatformLog('debug', { write: (line) => void lines.push(line), isTimed: true });
    const fields = { text: 'a "b"\n', number: 1.5, odd: Number.NaN, flag: false, none: null, absent: undefined };
    written.info(fields, 'say "it"');
    written.info({ ...fields, object: {} }, 'say "it"');
    const expected = '"text":"a \\"b\\"\\n","number":1.5,"odd":null,"flag":false,"none":null';
    expect(lines[0]).toBe(`{"level":30,${expected},"msg":"say \\"it\\""}\n`);
    expect(lines[1]).toBe(`{"level":30,${expected},"object":{},"msg":"say \\"it\\""}\n`);
    written.level = 'error';
    written.warn(fields, 'not shown');
    written.warn({ object: {} }, 'not shown');
    expect([written.level, lines.length]).toEqual(['error', 2]);
  });
});

test('no file of the platform has a credential in the clear after all of this', async () => {
  const { platform, dir } = await openWithConnectors(3);
  const before = readFileSync(join(dir, 'platform.db-wal'));
  expect(before.includes('key-1')).toBe(false);
  expect(readFileSync(join(dir, 'platform.db')).includes('key-1')).toBe(false);
  expect(await platform.admin.listConnectors('acme')).toHaveLength(3);
});
