// Connectors: made from API keys, shown without them, stored closed, and bound to their row.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { openTestPlatform, TEST_KEY, type TestPlatform } from '../support/open-platform.ts';

const API_KEY = 'sk-very-secret-0123456789';
const LINEAR_KEY = 'lin_api_very_secret';

function create(platform: TestPlatform, body: object) {
  return platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body });
}

async function openWithConnector() {
  const platform = await openTestPlatform();
  const answer = await create(platform, { provider: 'openai', api_key: API_KEY, access_policy: { allow_all: true } });
  return { platform, answer, id: String(answer.json.connection.id) };
}

describe('a connector', () => {
  test('is answered 201 with the record, and without its key anywhere', async () => {
    const { platform, answer, id } = await openWithConnector();
    expect(answer.status).toBe(201);
    expect(answer.json.connection).toEqual({
      id: expect.stringMatching(/^conn_/),
      provider: 'openai',
      provider_account_id: expect.stringMatching(/^key_[0-9a-f]{16}$/),
      access_policy: { allow_all: true },
      connection_type: 'api_key',
      inserted_at: expect.any(String),
      updated_at: expect.any(String),
      provider_info: { display_name: 'OpenAI', setup_url: 'https://platform.openai.com/api-keys' },
      usage_snippet: expect.stringContaining(`" ${platform.url}/v1/gateway/openai/${id}/v1/models`),
    });
    const read = await platform.call({ path: `/v1/oauth/connections/${id}` });
    const list = await platform.call({ path: '/v1/oauth/connections' });
    expect(read.json).toEqual(answer.json);
    expect(list.json.connections).toEqual([answer.json.connection]);
    for (const text of [answer.text, read.text, list.text]) expect(text).not.toContain(API_KEY);
  });

  test('is shown to a sprite that may use it; of others a sprite sees the id and the provider', async () => {
    const { platform, id } = await openWithConnector();
    const closed = (
      await create(platform, { provider: 'openai', api_key: `${API_KEY}2`, access_policy: { name_prefix: 'x' } })
    ).json;
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    const { json, text } = await platform.call({ path: '/v1/oauth/connections', token });
    expect(json.connections.map((one: { id: string }) => one.id)).toEqual([id]);
    expect(json.denied).toEqual([{ id: closed.connection.id, provider: 'openai' }]);
    expect(text).not.toContain(closed.connection.provider_account_id);
    const read = (which: string, by = token) => platform.call({ path: `/v1/oauth/connections/${which}`, token: by });
    expect([(await read(id)).status, (await read(closed.connection.id)).status]).toEqual([200, 404]);
    expect((await platform.call({ path: '/v1/oauth/connections' })).json).not.toHaveProperty('denied');
  });

  test('leaves its key in no file and in no log', async () => {
    const { platform } = await openWithConnector();
    const files = readdirSync(platform.dir)
      .filter((name) => !name.endsWith('.sock'))
      .map((name) => readFileSync(join(platform.dir, name)));
    expect(files.some((file) => file.includes('openai'))).toBe(true);
    for (const file of files) expect(file.includes(API_KEY)).toBe(false);
    expect(JSON.stringify(platform.log)).not.toContain(API_KEY);
  });

  test('without a policy is shown without one', async () => {
    const platform = await openTestPlatform();
    const { json } = await create(platform, { provider: 'mistral', api_key: API_KEY });
    expect(json.connection).not.toHaveProperty('access_policy');
  });

  test('has its policy replaced by PATCH and by PUT alike', async () => {
    const { platform, id } = await openWithConnector();
    for (const [method, access_policy] of [
      ['PATCH', { name_prefix: 'dev-' }],
      ['PUT', { sprite_labels: ['a'] }],
      ['PUT', {}],
    ] as const) {
      const answer = await platform.call({
        method,
        path: `/v1/oauth/connections/${id}`,
        body: { access_policy },
      });
      expect(answer.status).toBe(200);
      expect(answer.json.connection.access_policy).toEqual(access_policy);
    }
  });

  const malformed = [
    [{ allow_all: 'false' }, 'body.access_policy.allow_all'],
    [{ allowed_endpoints: '/v1' }, 'body.access_policy.allowed_endpoints'],
    [{ blocked_endpoints: [7] }, 'body.access_policy.blocked_endpoints.0'],
    [{ name_prefix: 7 }, 'body.access_policy.name_prefix'],
    [{ blocked_endpoint: ['/v1'] }, 'body.access_policy'],
    [null, 'body.access_policy'],
  ] as const;
  test.each(malformed)('refuses the policy %j, naming %s, and keeps the one it has', async (access_policy, field) => {
    const { platform, id } = await openWithConnector();
    const path = `/v1/oauth/connections/${id}`;
    const answer = await platform.call({ method: 'PUT', path, body: { access_policy } });
    expect(answer.status).toBe(400);
    expect(answer.json.details.fields[0].field).toBe(field);
    expect((await platform.call({ path })).json.connection.access_policy).toEqual({ allow_all: true });
    expect((await create(platform, { provider: 'openai', api_key: 'x', access_policy: { allow_all: 1 } })).status).toBe(
      400,
    );
  });

  test('is gone after DELETE, with its credential', async () => {
    const { platform, id } = await openWithConnector();
    const path = `/v1/oauth/connections/${id}`;
    const answer = await platform.call({ method: 'DELETE', path });
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect((await platform.call({ path })).status).toBe(404);
    expect((await platform.call({ method: 'DELETE', path })).status).toBe(404);
    expect((await platform.call({ path: '/v1/oauth/connections' })).json).toEqual({ connections: [] });
  });

  test('is listed by provider when one is named', async () => {
    const { platform } = await openWithConnector();
    await create(platform, { provider: 'linear', api_key: LINEAR_KEY });
    const providers = async (query: string) =>
      (await platform.call({ path: `/v1/oauth/connections${query}` })).json.connections.map(
        (one: { provider: string }) => one.provider,
      );
    expect(await providers('')).toEqual(['linear', 'openai']);
    expect(await providers('?provider=openai')).toEqual(['openai']);
    expect(await providers('?provider=none')).toEqual([]);
  });

  const refused = [
    [{ provider: 'nobody', api_key: 'k' }, 'body.provider'],
    [{ provider: '__proto__', api_key: 'k' }, 'body.provider'],
    [{ provider: 'openai' }, 'body.api_key'],
    [{ provider: 'openai', api_key: '' }, 'body.api_key'],
    [{ provider: 'openai', api_key: 'a b' }, 'body.api_key'],
    [{ provider: 'openai', api_key: 'a\r\nx-evil: 1' }, 'body.api_key'],
    [{ provider: 'telegram', api_key: '../x' }, 'body.api_key'],
    [{ provider: 'openai', api_key: 'k', base_api_url: 'https://x.example' }, 'body.base_api_url'],
    [{ provider: 'custom_api', api_key: 'k' }, 'body.base_api_url'],
    [{ provider: 'custom_api', api_key: 'k', base_api_url: 'http://x.example' }, 'body.base_api_url'],
  ] as const;
  test.each(refused)('of %j is refused, naming %s', async (body, field) => {
    const platform = await openTestPlatform();
    const answer = await create(platform, body);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: 'invalid_request', details: { fields: [{ field }] } });
    expect(answer.text).not.toContain('x-evil');
  });

  test('shows the address that it brought, without a slash at the end', async () => {
    const platform = await openTestPlatform();
    const base_api_url = 'https://api.example.com/v1/';
    const { json } = await create(platform, { provider: 'custom_api', api_key: 'k', base_api_url });
    expect(json.connection.provider_info).toMatchObject({ base_api_url: 'https://api.example.com/v1' });
  });
});

describe('the vault', () => {
  async function openWithTwo() {
    const provider = await startEchoProvider();
    const catalogue = [provider.entry('sample')];
    const platform = await openTestPlatform({ catalogue });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    for (const id of ['conn_1', 'conn_2']) {
      await platform.admin.createConnector({
        organization: 'acme',
        provider: 'sample',
        id,
        api_key: new Secret(`sk-of-${id}`),
        access_policy: { allow_all: true },
      });
    }
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    const use = (id: string) => platform.call({ path: `/v1/gateway/sample/${id}/x`, token });
    return { platform, catalogue, provider, use };
  }

  test('does not open a credential that was moved to another row', async () => {
    const { platform, provider, use } = await openWithTwo();
    expect((await use('conn_2')).status).toBe(200);
    const before = provider.requests.length;
    const db = new Database(join(platform.dir, 'platform.db'));
    db.exec(`UPDATE connectors SET (data_key, secret) = (SELECT data_key, secret FROM connectors WHERE id = 'conn_1')
             WHERE id = 'conn_2'`);
    db.close();
    const answer = await use('conn_2');
    expect([answer.status, answer.json.error]).toEqual([409, 'record_altered']);
    expect(answer.text).not.toContain('sk-of');
    expect(provider.requests.length).toBe(before);
    expect((await use('conn_1')).status).toBe(200);
  });

  test.each(['data_key', 'secret'])('does not open a credential whose %s was changed', async (column) => {
    const { platform, use } = await openWithTwo();
    const db = new Database(join(platform.dir, 'platform.db'));
    const row = db.prepare<[], Record<string, Buffer>>(`SELECT ${column} FROM connectors WHERE id = 'conn_1'`).get();
    const bytes = Buffer.from(row?.[column] ?? []);
    bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
    db.prepare(`UPDATE connectors SET ${column} = ? WHERE id = 'conn_1'`).run(bytes);
    db.close();
    expect((await use('conn_1')).json.error).toBe('record_altered');
  });

  test('does not start without a key, with a bad one, or with one that others were closed with missing', async () => {
    const { platform } = await openWithTwo();
    await platform[Symbol.asyncDispose]();
    const { dir } = platform;
    const open = (...keys: string[]) => openTestPlatform({ dir, keys: keys.map((key) => new Secret(key)) });
    await expect(open()).rejects.toMatchObject({ code: 'not_configured' });
    await expect(open('short')).rejects.toMatchObject({ code: 'not_configured' });
    await expect(open('cd'.repeat(32))).rejects.toThrow(/vault key [0-9a-f]{8}, which was not given/);
  });

  test('opens what an earlier key closed, while new credentials are closed with the current one', async () => {
    const { platform, catalogue } = await openWithTwo();
    await platform[Symbol.asyncDispose]();
    const keys = [new Secret('cd'.repeat(32)), TEST_KEY];
    const next = await openTestPlatform({ dir: platform.dir, catalogue, keys });
    const token = await next.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    expect((await next.call({ path: '/v1/gateway/sample/conn_1/x', token })).status).toBe(200);
    await next.admin.createConnector({
      organization: 'acme',
      provider: 'sample',
      api_key: new Secret('k'),
      id: 'conn_3',
    });
    await next[Symbol.asyncDispose]();
    await expect(openTestPlatform({ dir: platform.dir, keys: [TEST_KEY] })).rejects.toThrow(/was not given/);
  });
});
