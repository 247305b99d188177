// Keys that the platform makes at a provider itself, and keys that it asks a provider about.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { openTestPlatform } from '../support/open-platform.ts';

const MANAGEMENT_KEY = new Secret('sk-or-management');

/** The interface for managing keys, and one that takes the keys it made. */
async function startKeyProvider() {
  const keys = new Map<string, string>();
  const calls: { readonly method: string; readonly url: string; readonly authorization: string }[] = [];
  const state = { status: 201 };
  const server = createServer((request, response) => {
    const { method = '', url = '', headers } = request;
    const authorization = headers.authorization ?? '';
    calls.push({ method, url, authorization });
    const isManager = authorization === `Bearer ${MANAGEMENT_KEY.reveal()}`;
    const answer = (status: number, body: unknown = {}) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (!url.startsWith('/v1/keys')) {
      const key = authorization.replace('Bearer ', '');
      answer([...keys.values(), 'sk-or-good'].includes(key) ? 200 : 401);
    } else if (!isManager || state.status !== 201) answer(isManager ? state.status : 403);
    else if (method === 'POST') {
      const hash = `hash-${keys.size + 1}`;
      keys.set(hash, `sk-or-made-${hash}`);
      answer(201, { key: `sk-or-made-${hash}`, data: { hash } });
    } else answer(keys.delete(url.split('/').at(-1) ?? '') ? 200 : 404);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const entry: NewCatalogueEntry = {
    provider: 'openrouter',
    display_name: 'OpenRouter',
    description: 'a stand-in',
    address: { type: 'fixed', url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
    injection: { in: 'header', name: 'authorization', prefix: 'Bearer ' },
    allow_http: true,
    verify_path: '/v1/key',
    sample_path: '/v1/models',
  };
  return { keys, calls, state, entry };
}

async function openWithKeys() {
  const provider = await startKeyProvider();
  const platform = await openTestPlatform({
    catalogue: [provider.entry],
    managementKeys: new Map([['openrouter', MANAGEMENT_KEY]]),
    verifyKeys: true,
  });
  const provision = (name = 'openrouter') =>
    platform.call({ method: 'POST', path: '/v1/oauth/connections/provision', body: { provider: name } });
  const bring = (api_key: string) =>
    platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body: { provider: 'openrouter', api_key } });
  return { provider, platform, provision, bring };
}

test('a provisioned connector has a key of its own, denies until it has a policy, and ends the key when it is deleted', async () => {
  const { provider, platform, provision } = await openWithKeys();
  const made = await provision();
  expect(made.status).toBe(201);
  const { connection } = made.json;
  expect(connection).toMatchObject({ connection_type: 'provisioned', provider_account_id: 'hash-1' });
  expect(connection).not.toHaveProperty('access_policy');
  expect(made.text).not.toContain('sk-or-made');
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const use = async () =>
    (await platform.call({ path: `/v1/gateway/openrouter/${connection.id}/v1/models`, token })).status;
  expect(await use()).toBe(403);
  const path = `/v1/oauth/connections/${connection.id}`;
  await platform.call({ method: 'PUT', path, body: { access_policy: { allow_all: true } } });
  expect(await use()).toBe(200);
  expect(provider.calls.at(-1)?.authorization).toBe('Bearer sk-or-made-hash-1');
  expect((await platform.call({ method: 'DELETE', path })).status).toBe(204);
  expect(provider.keys.size).toBe(0);
});

test('a provider that makes no key, or for which there is no way, leaves no connector', async () => {
  const { provider, platform, provision } = await openWithKeys();
  for (const name of ['openai', 'nobody', '__proto__', 'constructor']) {
    const answer = await provision(name);
    expect([answer.status, answer.json.details.fields[0].field], name).toEqual([400, 'body.provider']);
  }
  provider.state.status = 402;
  const refused = await provision();
  expect([refused.status, refused.json.error]).toEqual([502, 'upstream_failed']);
  expect((await platform.call({ path: '/v1/oauth/connections' })).json.connections).toEqual([]);
});

test('a key that the provider does not take is refused before it is stored; one that it takes is stored', async () => {
  const { platform, bring } = await openWithKeys();
  const bad = await bring('sk-or-bad');
  expect([bad.status, bad.json.details.fields[0].field]).toEqual([400, 'body.api_key']);
  expect((await platform.call({ path: '/v1/oauth/connections' })).json.connections).toEqual([]);
  expect((await bring('sk-or-good')).status).toBe(201);
});

test.each([
  ['openai', 'pk-1'],
  ['anthropic', 'sk-1'],
  ['github', 'token'],
  ['telegram', '12:short'],
  ['stripe', 'pk_live_1'],
  ['google', 'AIza'],
])('a key of %s in another form is refused: %s', async (provider, api_key) => {
  const platform = await openTestPlatform();
  const body = { provider, api_key };
  const answer = await platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body });
  expect(answer.status).toBe(400);
  expect(answer.json.details.fields[0].field).toBe(provider === 'google' ? 'body.provider' : 'body.api_key');
});
