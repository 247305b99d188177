// Somebody who can write the database, but has no vault key, cannot have a credential sent elsewhere, or by somebody else.
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { bindOldSeals, bindSeals, SEALS_BOUND } from '../../src/platform/connectors/records/bound-seals.ts';
import { createConnectorSecrets } from '../../src/platform/connectors/records/connector-secrets.ts';
import { createConnectorStore } from '../../src/platform/connectors/records/connector-store.ts';
import { openStorage } from '../../src/platform/storage/open-storage.ts';
import { rotateKeys } from '../../src/platform/vault/key-rotation.ts';
import { createVault } from '../../src/platform/vault/vault.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { callPlatform, openTestPlatform, TEST_KEY, type TestPlatformOptions } from '../support/open-platform.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';
import { tempDir } from '../support/temp-dir.ts';

const organization = 'acme';
const NEW_KEY = new Secret('cd'.repeat(32));

/** Two providers; `own` takes an address of its own. */
async function openVictim(options: TestPlatformOptions = {}) {
  const [provider, attacker] = [await startEchoProvider(), await startEchoProvider()];
  const own = { ...provider.entry('own'), address: { type: 'own' } } as const;
  const catalogue = [provider.entry('hub'), attacker.entry('evil'), own];
  const platform = await openTestPlatform({ catalogue, ...options });
  const { admin } = platform;
  for (const name of ['dev-1', 'dev-2']) await admin.createSprite({ organization, name });
  const api_key = new Secret('the-key');
  const access_policy = { name_prefix: 'dev-1' };
  await admin.createConnector({ organization, provider: 'hub', id: 'conn_hub', api_key, access_policy });
  const connector = { organization, provider: 'own', id: 'conn_own', api_key, base_api_url: provider.origin };
  await admin.createConnector({ ...connector, access_policy });
  const token = await admin.createToken({ organization, sprite: 'dev-1' });
  const other = await admin.createToken({ organization, sprite: 'dev-2' });
  const use = async (path: string, by = token) => {
    const { status, json } = await callPlatform(platform.url, { path: `/v1/gateway/${path}`, token: by });
    return status === 200 ? 200 : `${status} ${json.error}`;
  };
  return { platform, provider, attacker, use, other };
}

/** `?` stands for the address of the attacker. Each is undone by its second half. */
const changes = [
  ['its address', "UPDATE connectors SET base_api_url = ? WHERE id = 'conn_own'", 'own/conn_own/x'],
  ['its provider', "UPDATE connectors SET provider = 'evil' WHERE id = 'conn_hub'", 'evil/conn_hub/x'],
  ['its kind', "UPDATE connectors SET connection_type = 'provisioned' WHERE id = 'conn_hub'", 'hub/conn_hub/x'],
  ['its policy', `UPDATE connectors SET access_policy = '{"allow_all":true}'`, 'hub/conn_hub/x'],
] as const;

function alter(dir: string, text: string, address: string): void {
  const db = new Database(join(dir, 'platform.db'));
  db.prepare(text.replace('?', `'${address}'`)).run();
  db.close();
}

describe('a record of a connector that was changed in the database', () => {
  test.each(changes)('in %s is refused, once in the log, and nothing is sent', async (_, text, path) => {
    const { platform, attacker, provider, use, other } = await openVictim();
    expect(await use('hub/conn_hub/x')).toBe(200);
    expect(await use('own/conn_own/x')).toBe(200);
    const before = provider.requests.length;
    alter(platform.dir, text, attacker.origin);
    expect([await use(path), await use(path)]).toEqual(['409 record_altered', '409 record_altered']);
    expect(await use('hub/conn_hub/x', other)).not.toBe(200);
    expect(attacker.requests).toEqual([]);
    expect(provider.requests).toHaveLength(before);
    const told = platform.log.filter(({ message }) => String(message).includes('changed outside the platform'));
    expect(told).toHaveLength(1);
    expect(JSON.stringify(platform.log)).not.toContain('the-key');
  });

  test('takes no new policy and opens for no rotation, and is deleted and made again', async () => {
    const { platform, attacker, use } = await openVictim();
    alter(platform.dir, changes[0][1], attacker.origin);
    const path = '/v1/oauth/connections/conn_own';
    const body = { access_policy: { allow_all: true } };
    expect((await platform.call({ method: 'PATCH', path, body })).json.error).toBe('record_altered');
    const storage = await openStorage(platform.dir, undefined);
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const both = createVault([NEW_KEY, TEST_KEY]);
    expect((await rotateKeys([createConnectorSecrets(createConnectorStore(storage))], both)).unreadable).toEqual([
      { source: 'connectors', id: 'conn_own' },
    ]);
    expect((await platform.call({ method: 'DELETE', path })).status).toBe(204);
    const made = { provider: 'own', api_key: 'k', base_api_url: attacker.origin, ...body };
    const { json } = await platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body: made });
    expect(await use(`own/${json.connection.id}/x`)).toBe(200);
  });

  test('is not closed into a new seal by a renewal, nor by authorizing its account again', async () => {
    const oauth = await startOAuthProvider();
    oauth.state.expires_in = 10;
    const options = { catalogue: [oauth.entry('hub')], oauthClients: [oauth.client('hub')] };
    const platform = await openTestPlatform(options);
    await platform.admin.createSprite({ organization, name: 'dev-2' });
    const authorize = async (access_policy?: object) => {
      const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
      const body = { code: oauth.agree(json.authorize_url), state: json.state, access_policy };
      return await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
    };
    const { id } = (await authorize({ name_prefix: 'dev-1' })).json.connection;
    alter(platform.dir, `UPDATE connectors SET access_policy = '{"allow_all":true}', token_expires_at = 0`, '');
    const token = await platform.admin.createToken({ organization, sprite: 'dev-2' });
    const use = () => platform.call({ path: `/v1/gateway/hub/${id}/x`, token });
    expect((await use()).json.error).toBe('record_altered');
    expect((await authorize()).json.error).toBe('record_altered');
    expect((await use()).json.error).toBe('record_altered');
  });
});

describe('a policy that is changed by the platform', () => {
  test('by many at once leaves a credential that opens', async () => {
    const { platform, use } = await openVictim();
    const path = '/v1/oauth/connections/conn_hub';
    const set = (n: number) =>
      platform.call({
        method: 'PATCH',
        path,
        body: { access_policy: { name_prefix: 'dev-', allowed_endpoints: [`/${n}`, '/x'] } },
      });
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => set(n)));
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    expect(answers.some(({ status }) => status === 200)).toBe(true);
    expect(await use('hub/conn_hub/x')).toBe(200);
  });
});

/** Copies what a version wrote that bound a credential to its row alone; see fixtures/schema-1. */
function copyOld(): string {
  const dir = tempDir();
  mkdirSync(dir, { recursive: true });
  copyFileSync(new URL('fixtures/schema-1/platform.db', import.meta.url), join(dir, 'platform.db'));
  return dir;
}

const oldTokens: { readonly token: string; readonly sprite_token: string } = JSON.parse(
  readFileSync(new URL('fixtures/schema-1/tokens.json', import.meta.url), 'utf8'),
);

function versionsOf(dir: string): string[] {
  const db = new Database(join(dir, 'platform.db'));
  try {
    const rows = db.prepare<[], { id: string; data_key: Buffer }>('SELECT id, data_key FROM connectors ORDER BY id');
    return rows.all().map(({ id, data_key }) => `${id} ${data_key[0]}`);
  } finally {
    db.close();
  }
}

describe('a credential that an earlier version closed', () => {
  test('is bound at the start, with the key that it has, and not again', async () => {
    const dir = copyOld();
    const provider = await startEchoProvider();
    const own = { ...provider.entry('own'), address: { type: 'own' } } as const;
    const options = { dir, keys: [NEW_KEY, TEST_KEY], catalogue: [provider.entry('hub'), own] };
    expect(versionsOf(dir)).toEqual(['conn_1 1', 'conn_own 1']);
    const first = await openTestPlatform(options);
    expect(versionsOf(dir)).toEqual(['conn_1 2', 'conn_own 2']);
    expect(first.log.filter(({ connectors }) => connectors === 2)).toHaveLength(1);
    const token = new Secret(oldTokens.sprite_token);
    expect((await first.call({ path: '/v1/gateway/hub/conn_1/x', token })).status).toBe(200);
    expect(provider.requests.at(-1)).toContain('Bearer key-1');
    await first[Symbol.asyncDispose]();
    const again = await openTestPlatform({ ...options, keys: [TEST_KEY] });
    expect(again.log.some(({ connectors }) => connectors !== undefined)).toBe(false);
    alter(dir, changes[0][1], provider.origin);
    const { json } = await again.call({ path: '/v1/gateway/own/conn_own/x', token });
    expect(json.error).toBe('record_altered');
  });

  test('opens nothing when it is put in its place while the platform runs', async () => {
    const dir = copyOld();
    const provider = await startEchoProvider();
    const old = new Database(join(copyOld(), 'platform.db')).prepare<[], { data_key: Buffer }>(
      "SELECT data_key FROM connectors WHERE id = 'conn_1'",
    );
    const platform = await openTestPlatform({ dir, catalogue: [provider.entry('hub')] });
    const db = new Database(join(dir, 'platform.db'));
    db.prepare("UPDATE connectors SET data_key = ? WHERE id = 'conn_1'").run(old.get()?.data_key);
    db.close();
    const token = new Secret(oldTokens.sprite_token);
    expect((await platform.call({ path: '/v1/gateway/hub/conn_1/x', token })).json.error).toBe('record_altered');
    expect(provider.requests).toEqual([]);
  });

  test('is bound where that was broken off, and closed with another key by a rotation', async () => {
    const dir = copyOld();
    const storage = await openStorage(dir, undefined);
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const db = new Database(join(dir, 'platform.db'));
    db.exec(`CREATE TRIGGER broken BEFORE UPDATE OF data_key ON connectors WHEN OLD.id = 'conn_own'
             BEGIN SELECT RAISE(ABORT, 'killed here'); END`);
    const [connectors, both] = [createConnectorStore(storage), createVault([NEW_KEY, TEST_KEY])];
    await expect(bindOldSeals(dir, connectors, both)).rejects.toThrow('killed here');
    expect(versionsOf(dir)).toEqual(['conn_1 2', 'conn_own 1']);
    db.exec('DROP TRIGGER broken');
    db.close();
    expect(await bindOldSeals(dir, connectors, both)).toEqual({ rotated: 1, unreadable: [], refused: [] });
    expect(await rotateKeys([createConnectorSecrets(connectors)], both)).toEqual({ rotated: 2, unreadable: [] });
    expect(await connectors.listKeyIds()).toEqual([both.currentKeyId]);
    expect(await bindSeals(connectors, createVault([NEW_KEY]))).toEqual({ rotated: 0, unreadable: [] });
  });

  test('with a key that is not given stays as it is and is named', async () => {
    const dir = copyOld();
    const storage = await openStorage(dir, undefined);
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const connectors = createConnectorStore(storage);
    const report = await bindOldSeals(dir, connectors, createVault([NEW_KEY]));
    expect(report).toEqual({ rotated: 0, unreadable: ['conn_1', 'conn_own'], refused: [] });
    expect(await bindOldSeals(dir, connectors, createVault([TEST_KEY]))).toMatchObject({ rotated: 2 });
  });

  test.each([
    ['alone', ''],
    ['and into the list of the migration', "INSERT INTO unbound_seals VALUES ('conn_own')"],
  ])('and that is put into the database later %s is refused at every start, and named', async (_, list) => {
    const dir = copyOld();
    const attacker = await startEchoProvider();
    const own = { ...attacker.entry('own'), address: { type: 'own' } } as const;
    const options = { dir, catalogue: [own] };
    const old = new Database(join(copyOld(), 'platform.db')).prepare<[], { data_key: Buffer }>(
      "SELECT data_key FROM connectors WHERE id = 'conn_own'",
    );
    const first = await openTestPlatform(options);
    await first[Symbol.asyncDispose]();
    const db = new Database(join(dir, 'platform.db'));
    const text = "UPDATE connectors SET data_key = ?, base_api_url = ? WHERE id = 'conn_own'";
    db.prepare(text).run(old.get()?.data_key, attacker.origin);
    db.exec(list);
    db.close();
    const token = new Secret(oldTokens.sprite_token);
    for (const _start of [1, 2]) {
      const next = await openTestPlatform(options);
      expect(next.log).toContainEqual(
        expect.objectContaining({ connectors: ['conn_own'], file: join(dir, SEALS_BOUND) }),
      );
      const answer = await next.call({ path: '/v1/gateway/own/conn_own/x', token });
      expect(answer.json.error).toBe('record_altered');
      await next[Symbol.asyncDispose]();
    }
    expect(attacker.requests).toEqual([]);
    expect(versionsOf(dir)).toEqual(['conn_1 2', 'conn_own 1']);
  });

  test('of a backup that was restored is bound when the record of the directory is deleted', async () => {
    const dir = copyOld();
    const provider = await startEchoProvider();
    const options = { dir, catalogue: [provider.entry('hub')] };
    const reopen = async () => {
      const platform = await openTestPlatform(options);
      await platform[Symbol.asyncDispose]();
      return versionsOf(dir);
    };
    expect(await reopen()).toEqual(['conn_1 2', 'conn_own 2']);
    copyFileSync(new URL('fixtures/schema-1/platform.db', import.meta.url), join(dir, 'platform.db'));
    expect(await reopen()).toEqual(['conn_1 1', 'conn_own 1']);
    rmSync(join(dir, SEALS_BOUND));
    expect(await reopen()).toEqual(['conn_1 2', 'conn_own 2']);
    expect(await reopen()).toEqual(['conn_1 2', 'conn_own 2']);
  });
});

describe.skipIf(isWithoutPostgres())('in PostgreSQL', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test('a changed record is refused, and what an earlier version closed is bound', async () => {
    const database = await server.createDatabase();
    const { platform, attacker, use } = await openVictim({ database });
    expect(await use('own/conn_own/x')).toBe(200);
    const storage = await openStorage(platform.dir, database);
    onTestFinished(() => storage[Symbol.asyncDispose]());
    const connectors = createConnectorStore(storage);
    expect(await connectors.listUnbound('', 10)).toEqual([]);
    await storage.run('UPDATE connectors SET base_api_url = $1 WHERE id = $2', [attacker.origin, 'conn_own']);
    expect(await use('own/conn_own/x')).toBe('409 record_altered');
    expect(attacker.requests).toEqual([]);
    const old = new Database(join(copyOld(), 'platform.db'));
    const row = old.prepare<[], Record<string, Buffer & string>>("SELECT * FROM connectors WHERE id = 'conn_1'").get();
    old.close();
    if (row === undefined) throw new Error('the fixture is empty');
    const { organization_id = '', key_id = '', data_key = '', secret = '', access_policy = '' } = row;
    await storage.run('INSERT INTO organizations (id, slug, created_at) VALUES ($1, $2, $3)', [
      organization_id,
      'old',
      1,
    ]);
    const values = [organization_id, access_policy, key_id, data_key, secret];
    await storage.run(
      `INSERT INTO connectors (id, organization_id, provider, provider_account_id, connection_type, access_policy, key_id,
         data_key, secret, inserted_at, updated_at) VALUES ('conn_1', $1, 'hub', 'a', 'api_key', $2, $3, $4, $5, 1, 1)`,
      values,
    );
    const vault = createVault([TEST_KEY]);
    expect(await bindSeals(connectors, vault)).toEqual({ rotated: 0, unreadable: [] });
    await storage.run("INSERT INTO unbound_seals (connector_id) VALUES ('conn_1')");
    expect(await bindSeals(connectors, vault)).toEqual({ rotated: 1, unreadable: [] });
    expect(await rotateKeys([createConnectorSecrets(connectors)], createVault([NEW_KEY, TEST_KEY]))).toEqual({
      rotated: 2,
      unreadable: [{ source: 'connectors', id: 'conn_own' }],
    });
  });
});
