// What a caller can find out about the gateway before it calls: what would happen to a call, the providers, and the guide.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { errorStatus } from '../../src/contract/errors.ts';
import type { Clock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { gatewayCases } from '../support/gateway-corpus.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { toPolicySetter } from '../support/seal-policies.ts';

const API_KEY = 'sk-of-the-connector';

async function openGateway() {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({
    catalogue: [
      provider.entry('openai'),
      provider.entry('gemini', { injection: { in: 'query', name: 'key' } }),
      provider.entry('telegram', { injection: { in: 'path', prefix: 'bot' } }),
    ],
  });
  const { admin } = platform;
  const policy = { name_prefix: 'dev-', allowed_endpoints: ['/v1/*'], blocked_endpoints: ['/v1/admin*'] };
  for (const [id, name, access_policy] of [
    ['conn_1', 'openai', policy],
    ['conn_2', 'gemini', { allow_all: true }],
    ['conn_3', 'telegram', { allow_all: true }],
    ['conn_4', 'openai', {}],
  ] as const) {
    const api_key = new Secret(API_KEY);
    await admin.createConnector({ organization: 'acme', provider: name, id, api_key, access_policy });
  }
  await admin.createSprite({ organization: 'acme', name: 'dev-1', labels: ['a'] });
  await admin.createSprite({ organization: 'acme', name: 'web-1' });
  const token = await admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const explain = async (body: unknown, as: Secret | undefined = token) =>
    await platform.call({ method: 'POST', path: '/v1/gateway/explain', body, token: as });
  return { platform, provider, token, explain, policy };
}

describe('a dry run', () => {
  test('of a call that is allowed shows what the provider would get, with a placeholder, and sends nothing', async () => {
    const { provider, explain, policy } = await openGateway();
    const headers = { Accept: 'text/plain', Authorization: 'Bearer mine', Connection: 'x-gone', 'x-gone': '1' };
    const url = 'http://any.host/v1/gateway/openai/conn_1/v1/models?limit=1';
    const answer = await explain({ url, headers });
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        decision: 'allow',
        message: 'allowed by /v1/*',
        rule: '/v1/*',
        reading: '/v1/models',
        canonical: '/v1/models',
        forwarded: {
          method: 'GET',
          url: `${provider.origin}/v1/models?limit=1`,
          headers: [
            { name: 'Accept', value: 'text/plain' },
            { name: 'authorization', value: 'Bearer (credential)' },
          ],
          injection: { in: 'header', name: 'authorization' },
          renews_token: false,
        },
        sprite: { name: 'dev-1', labels: ['a'] },
        policy,
      },
    ]);
    expect(provider.requests).toEqual([]);
    expect(answer.text).not.toContain(API_KEY);
  });

  test.each([
    ['gemini', 'conn_2', '/v1/x?key=mine&a=1', '/v1/x?a=1&key=(credential)', { in: 'query', name: 'key' }],
    ['telegram', 'conn_3', '/getMe', '/bot(credential)/getMe', { in: 'path', name: null }],
  ])('of %s shows where the credential goes', async (name, connector_id, path, sent, injection) => {
    const { provider, explain, platform, token } = await openGateway();
    const { forwarded } = (await explain({ provider: name, connector_id, path })).json;
    expect(forwarded).toMatchObject({ url: provider.origin + sent, injection });
    await platform.call({ path: `/v1/gateway/${name}/${connector_id}${path}`, token });
    expect(provider.requests.at(-1)).toContain(`GET ${sent.replace('(credential)', API_KEY)} HTTP/1.1`);
  });

  test('has the code, the status and the text that the call itself gets', async () => {
    const { platform, provider, token, explain } = await openGateway();
    const targets = [
      '/v1/gateway/openai/conn_1/v1/admin',
      '/v1/gateway/openai/conn_1/v1/%61dmin/x',
      '/v1/gateway/openai/conn_1/other',
      '/v1/gateway/openai/conn_4/v1/models',
      '/v1/gateway/openai/conn_none/v1/models',
      '/v1/gateway/gemini/conn_1/v1/models',
      '/v1/gateway/openai/conn_1/v1/%252e%252e/x',
      '/v1/gateway/openai/conn_1/v1/%zz',
    ];
    for (const url of targets) {
      for (const as of [token, platform.token]) {
        const called = await platform.call({ path: url, token: as });
        const { json } = await explain({ url }, as);
        expect([url, json.status, json.code, json.message]).toEqual([
          url,
          called.status,
          called.json.error,
          called.json.message,
        ]);
        expect(json.forwarded).toBeNull();
        expect(json.decision).not.toBe('allow');
      }
    }
    expect(provider.requests).toEqual([]);
  });

  test('asks for a sprite by name with the token of an organization, and only for itself with its own', async () => {
    const { platform, explain } = await openGateway();
    const url = '/v1/gateway/openai/conn_1/v1/models';
    const asked = async (sprite?: string, as?: Secret) => (await explain({ url, sprite }, as)).json;
    expect(await asked('dev-1', platform.token)).toMatchObject({ decision: 'allow', sprite: { name: 'dev-1' } });
    expect(await asked('web-1', platform.token)).toMatchObject({ decision: 'deny', code: 'connection_denied' });
    expect(await asked(undefined, platform.token)).toMatchObject({
      decision: 'deny',
      code: 'unauthorized',
      sprite: null,
    });
    expect(await asked('none', platform.token)).toMatchObject({ error: 'not_found' });
    expect(await asked('dev-1')).toMatchObject({ decision: 'allow' });
    expect(await asked('web-1')).toMatchObject({ error: 'forbidden' });
    expect((await platform.call({ method: 'POST', path: '/v1/gateway/explain', token: undefined })).status).toBe(401);
  });

  test('is open to a token that only reads, which opens no call', async () => {
    const { platform, provider, explain } = await openGateway();
    const reader = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1', access: 'read' });
    const path = '/v1/gateway/openai/conn_1/v1/models';
    expect((await explain({ url: path }, reader)).json).toMatchObject({ decision: 'allow' });
    expect((await platform.call({ path, token: reader })).status).toBe(403);
    expect(provider.requests).toEqual([]);
  });

  test('of a body that names no call, or two, is refused', async () => {
    const { explain } = await openGateway();
    for (const body of [{}, { provider: 'openai' }, { url: '/x', provider: 'a', connector_id: 'b', path: '/c' }, []]) {
      expect((await explain(body)).status, JSON.stringify(body)).toBe(400);
    }
    const split = { provider: 'openai/conn_1', connector_id: 'v1', path: '/models' };
    expect((await explain(split)).json).toMatchObject({ decision: 'reject', code: 'invalid_target' });
  });

  test('of every recorded case has its verdict', async () => {
    const { platform } = await openGateway();
    const db = new Database(join(platform.dir, 'platform.db'));
    onTestFinished(() => void db.close());
    const setPolicy = toPolicySetter(platform.dir);
    const setSprite = db.prepare<[string, string, string]>('UPDATE sprites SET name = ?, labels = ? WHERE id = ?');
    const { id } = (await platform.call({ path: '/v1/sprites/web-1' })).json;
    await platform.call({ method: 'DELETE', path: '/v1/sprites/dev-1' });
    const wrong: string[] = [];
    let asked = 0;
    // What is only about the bytes of a request, or about connectors that are not here, has a test of its own.
    for (const one of gatewayCases.filter(({ target }) => /^\/v1\/gateway\/openai\/conn_1\/[ -~]*$/.test(target))) {
      const { method, target, sprite } = one;
      if (one.headers.length > 0) continue;
      setPolicy(one.policy);
      if (sprite !== null) setSprite.run(sprite.name, JSON.stringify(sprite.labels), id);
      const body = { method, url: target, sprite: sprite?.name };
      const answer = await platform.call({ method: 'POST', path: '/v1/gateway/explain', body });
      asked += 1;
      if (answer.json.decision !== one.expect) wrong.push(`${one.id}: ${answer.json.decision}, not ${one.expect}`);
      if (one.forward !== undefined && answer.json.forwarded !== null) {
        if (!answer.json.forwarded.url.endsWith(one.forward)) wrong.push(`${one.id}: ${answer.json.forwarded.url}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(asked).toBeGreaterThan(60);
  });

  test('says that a token would be renewed, or that the authorization has ended, and asks nobody', async () => {
    const provider = await startOAuthProvider();
    provider.state.expires_in = 3_600;
    const clock: Clock & { wall: number } = { wall: Date.now(), wall_ms: () => clock.wall, mono_ms: () => clock.wall };
    const options = { clock, catalogue: [provider.entry('hub')], oauthClients: [provider.client('hub')] };
    const platform = await openTestPlatform(options);
    const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
    const code = { code: provider.agree(json.authorize_url), state: json.state, access_policy: { allow_all: true } };
    const made = await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body: code });
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
    const url = `/v1/gateway/hub/${made.json.connection.id}/user`;
    const explain = async () =>
      (await platform.call({ method: 'POST', path: '/v1/gateway/explain', body: { url }, token })).json;
    expect(await explain()).toMatchObject({ forwarded: { renews_token: false } });
    clock.wall += 3_600_000;
    const calls = provider.tokenCalls.length;
    expect(await explain()).toMatchObject({ decision: 'allow', forwarded: { renews_token: true } });
    expect(provider.tokenCalls.length).toBe(calls);
    provider.state.refreshFailure = 'invalid_grant';
    const called = await platform.call({ path: url, token });
    expect(await explain()).toMatchObject({ decision: 'reject', code: called.json.error, status: called.status });
    expect(called.json.error).toBe('authorization_ended');
    expect(errorStatus.authorization_ended).toBe(called.status);
  });
});

describe('the providers', () => {
  test('are all those of the catalogue, with where they are and how a connector is made', async () => {
    const oauth = await startOAuthProvider();
    const platform = await openTestPlatform({
      catalogue: [oauth.entry('hub')],
      oauthClients: [oauth.client('hub')],
      managementKeys: new Map([['openrouter', new Secret('k')]]),
    });
    const { json } = await platform.call({ path: '/v1/gateway/providers' });
    const find = (name: string) => json.providers.find(({ provider }: { provider: string }) => provider === name);
    expect(json.providers.length).toBeGreaterThan(25);
    expect(find('openai')).toMatchObject({
      gateway_base_url: `${platform.url}/v1/gateway/openai/{connector_id}`,
      provider_base_url: 'https://api.openai.com',
      docs_url: 'https://platform.openai.com/docs/api-reference',
      connect: ['api_key'],
      credential: { in: 'header', name: 'authorization' },
      connectors: [],
    });
    expect(find('hub')).toMatchObject({ connect: ['api_key', 'oauth'], scopes: ['read', 'write'] });
    expect(find('github')).toMatchObject({ connect: ['api_key'] });
    expect(find('openrouter').connect).toContain('provision');
    expect(find('custom_api').provider_base_url).toBeNull();
    const one = await platform.call({ path: '/v1/gateway/providers?provider=openai' });
    expect(one.json).toEqual({ providers: [find('openai')] });
  });

  test('name the connectors that the caller may use, and no other', async () => {
    const { platform, token } = await openGateway();
    const ids = async (as: Secret) => {
      const { json } = await platform.call({ path: '/v1/gateway/providers?provider=openai', token: as });
      return json.providers[0].connectors;
    };
    expect(await ids(token)).toEqual(['conn_1']);
    expect(await ids(platform.token)).toEqual(['conn_1', 'conn_4']);
    await platform.admin.createOrganization('other');
    expect(await ids(await platform.admin.createToken({ organization: 'other' }))).toEqual([]);
  });
});

test('the guide is a page with the connectors of the caller, lines that work, and nothing that is secret', async () => {
  const { platform, token, provider } = await openGateway();
  const answer = await platform.call({ path: '/v1/gateway/guide', token });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
  expect(answer.text).toContain('connector `conn_1`');
  expect(answer.text).not.toContain('conn_4');
  expect(answer.text).not.toContain(API_KEY);
  const base = /base URL: `([^`]+conn_1)`/.exec(answer.text)?.[1] ?? '';
  const used = await fetch(`${base}/v1/models`, { headers: { authorization: `Bearer ${token.reveal()}` } });
  expect([used.status, provider.requests.length]).toEqual([200, 1]);
  const paths = [...answer.text.matchAll(/`(GET|POST) (http[^`]+)`/g)];
  expect(paths).toHaveLength(4);
  for (const [, method = '', url = ''] of paths) {
    const init = method === 'POST' ? { method, body: '{}', headers: { 'content-type': 'application/json' } } : {};
    const asked = await fetch(url, {
      ...init,
      headers: { ...init.headers, authorization: `Bearer ${token.reveal()}` },
    });
    expect([url, asked.status]).toEqual([url, method === 'POST' ? 400 : 200]);
  }
});
