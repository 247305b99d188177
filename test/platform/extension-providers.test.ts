// The registry of extension providers, by the commands of the operator and at a real platform.
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createExtensionProviders } from '../../src/platform/extension-providers/extension-providers.ts';
import { openStorage } from '../../src/platform/storage/open-storage.ts';
import { createVault } from '../../src/platform/vault/vault.ts';
import { openTestPlatform, TEST_KEY } from '../support/open-platform.ts';
import { runHere } from '../support/run-here.ts';

const BASE = 'https://kv.example/remora';

async function open() {
  const platform = await openTestPlatform();
  const run = (...words: string[]) => runHere(['platform', ...words, '--dir', platform.dir]);
  const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).out);
  const create = (...words: string[]) => json('extension-provider', 'create', 'kv', '--base-url', `${BASE}/`, ...words);
  return { platform, run, json, create };
}

/** The registry on a closed platform's database, with a clock of the test. */
async function registryOf(dir: string, key = TEST_KEY) {
  let now_ms = Date.now();
  const storage = await openStorage(dir, undefined);
  const clock = { wall_ms: () => now_ms, mono_ms: () => 0 };
  const providers = createExtensionProviders({ sql: storage, vault: createVault([key]), clock });
  const texts = async (kind: 'provisioning' | 'webhook' | 'client') =>
    (await providers.openSecrets({ name: 'kv' }, kind)).map((secret) => secret.reveal());
  return { storage, providers, texts, pass: (ms: number) => (now_ms += ms) };
}

test('a provider is registered, listed, changed and deleted, and its secrets are shown once', async () => {
  const { run, json, create } = await open();
  const made = await create('--redirect-uri', 'https://kv.example/a', '--redirect-uri', 'https://kv.example/b?x=1');
  expect(made).toMatchObject({ name: 'kv', base_url: BASE, client_id: expect.stringMatching(/^remora_[0-9a-f]{24}$/) });
  const secrets = [made.provisioning_secret, made.webhook_secret, made.client_secret];
  for (const secret of secrets) expect(secret).toMatch(/^remora_\w+_[\w-]{43}$/);
  expect(new Set(secrets).size).toBe(3);
  const later = [
    await run('extension-provider', 'list'),
    await run('extension-provider', 'show', 'kv'),
    await run('extension-provider', 'list', '--json'),
    await run('extension-provider', 'update', 'kv', '--region-aware', '--event', 'user_added', '--json'),
  ];
  for (const secret of secrets) expect(JSON.stringify(later)).not.toContain(secret);
  expect(await json('extension-provider', 'show', 'kv')).toMatchObject({
    redirect_uris: ['https://kv.example/a', 'https://kv.example/b?x=1'],
    region_aware: true,
    official: false,
    app: null,
    events: ['user_added'],
  });
  expect((await run('extension-provider', 'create', 'kv', '--base-url', BASE)).err).toContain('already_exists');
  expect((await run('extension-provider', 'delete', 'kv')).code).toBe(0);
  expect((await run('extension-provider', 'show', 'kv')).err).toContain('not_found');
  expect(await json('extension-provider', 'list')).toEqual({ providers: [] });
});

test.each([
  'http://kv.example',
  'http://10.0.0.1',
  'ftp://kv.example',
  'https://a:b@kv.example',
  'https://kv.example/?x=1',
  'https://kv.example/a/../b',
  'https://kv.example/a%2fb',
  'kv',
])('%s is no base URL', async (url) => {
  const { run } = await open();
  const { code, err } = await run('extension-provider', 'create', 'kv', '--base-url', url);
  expect([code, err]).toEqual([1, expect.stringContaining('body.base_url')]);
});

test('http is taken on this machine itself, and for redirects too; a fragment is not', async () => {
  const { run, json } = await open();
  const create = (...words: string[]) => ['extension-provider', 'create', 'kv', '--base-url', ...words];
  const refused = await run(...create('http://127.0.0.1:1/x', '--redirect-uri', 'https://kv.example/#a'));
  expect(refused.err).toContain('body.redirect_uris.0');
  const made = await json(...create('http://127.0.0.1:1/x', '--redirect-uri', 'http://localhost:9/back'));
  expect(made.base_url).toBe('http://127.0.0.1:1/x');
});

test('an official provider that is latency-sensitive has an app of this platform', async () => {
  const { platform, run, json, create } = await open();
  const traits = ['--official', '--latency-sensitive'];
  const refused = await run('extension-provider', 'create', 'kv', '--base-url', BASE, ...traits);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('body.app') });
  const unknown = await run('extension-provider', 'create', 'kv', '--base-url', BASE, '--app', 'none-such');
  expect(unknown.err).toContain('there is no app none-such');
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'kv-app' } });
  await create(...traits, '--app', 'kv-app');
  expect((await run('extension-provider', 'update', 'kv', '--app', 'none')).err).toContain('body.app');
  await json('extension-provider', 'update', 'kv', '--not-official', '--app', 'none');
  expect(await json('extension-provider', 'show', 'kv')).toMatchObject({ official: false, app: null });
  await json('extension-provider', 'update', 'kv', '--official', '--app', 'kv-app');
  expect((await platform.call({ method: 'DELETE', path: '/v1/apps/kv-app' })).status).toBe(204);
  expect(await json('extension-provider', 'show', 'kv')).toMatchObject({ official: false, app: null });
});

test('after a rotation both secrets are good until the overlap is over, and never more than two', async () => {
  const { platform, run, json, create } = await open();
  const made = await create();
  const second = await json('extension-provider', 'rotate-secret', 'kv', 'client', '--overlap', '1h');
  const third = await json('extension-provider', 'rotate-secret', 'kv', 'client');
  const webhook = (await run('extension-provider', 'rotate-secret', 'kv', 'webhook', '--overlap', '0s')).out;
  expect(await run('extension-provider', 'rotate-secret', 'kv', 'other')).toMatchObject({ code: 2 });
  expect((await run('extension-provider', 'rotate-secret', 'kv', 'client', '--overlap', '1000h')).code).toBe(1);
  expect(Date.parse(third.previous_expires_at) - Date.now()).toBeGreaterThan(86_000_000);
  await platform[Symbol.asyncDispose]();
  const { storage, providers, texts, pass } = await registryOf(platform.dir);
  await using _storage = storage;
  expect(await texts('client')).toEqual([third.client_secret, second.client_secret]);
  expect(await texts('webhook')).toEqual([webhook]);
  expect(await texts('provisioning')).toEqual([made.provisioning_secret]);
  const kv = { name: 'kv' };
  const judge = (text: string) => providers.checkClientSecret(kv, new Secret(text));
  const given = [third.client_secret, second.client_secret, made.client_secret, webhook, ''];
  expect(await Promise.all(given.map(judge))).toEqual([true, true, false, false, false]);
  pass(86_400_001);
  expect(await Promise.all(given.map(judge))).toEqual([true, false, false, false, false]);
  expect((await providers.findByClientId(made.client_id))?.name).toBe('kv');
});

test('the secrets go with a rotation of vault keys, and the start names a key that is missing', async () => {
  const { platform, create } = await open();
  const made = await create();
  await platform[Symbol.asyncDispose]();
  const newKey = new Secret('cd'.repeat(32));
  await expect(openTestPlatform({ dir: platform.dir, keys: [newKey] })).rejects.toThrow('key');
  const env = { REMORA_PLATFORM_KEY: `${newKey.reveal()}\n${TEST_KEY.reveal()}` };
  expect(await runHere(['platform', 'rotate', '--dir', platform.dir], env)).toMatchObject({ code: 0 });
  const { storage, texts } = await registryOf(platform.dir, newKey);
  expect(await texts('provisioning')).toEqual([made.provisioning_secret]);
  await storage[Symbol.asyncDispose]();
  await openTestPlatform({ dir: platform.dir, keys: [newKey] });
});

test('a platform that does not run registers a provider too, where the vault keys are given', async () => {
  const { platform } = await open();
  await platform[Symbol.asyncDispose]();
  const words = ['platform', 'extension-provider', 'create', 'kv', '--base-url', BASE, '--dir', platform.dir, '--json'];
  const without = await runHere(words);
  expect([without.code, without.err]).toEqual([1, expect.stringContaining('vault key')]);
  const made = await runHere(words, { REMORA_PLATFORM_KEY: TEST_KEY.reveal() });
  expect(JSON.parse(made.out).provisioning_secret).toMatch(/^remora_prov_/);
});

test('a provider loses its app with the organization that owns it', async () => {
  const { platform, run, json, create } = await open();
  await platform.admin.createOrganization('other');
  const token = await platform.admin.createToken({ organization: 'other' });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'kv-app' }, token });
  await create('--app', 'kv-app');
  expect((await run('organization', 'delete', 'other')).code).toBe(0);
  expect((await json('extension-provider', 'show', 'kv')).app).toBe(null);
});
