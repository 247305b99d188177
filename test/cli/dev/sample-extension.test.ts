// The sample provider of extensions, over real connections: a store is sold, used by programs, looked at by people, billed and ended.
import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { openKvStores } from '../../../src/cli/dev/sample-extension/kv-store.ts';
import { openSampleExtension } from '../../../src/cli/dev/sample-extension/open-sample-extension.ts';
import { Secret } from '../../../src/core/secret.ts';
import { atEnd } from '../../support/at-end.ts';
import { callSigned, KIT_SECRET, provisioning } from '../../support/kit-provider.ts';
import { CLIENT, openSignOnPlatform } from '../../support/kit-sign-on.ts';
import { tempDir } from '../../support/temp-dir.ts';

async function openSample() {
  const dir = join(tempDir(), 'extension');
  const platform = await openSignOnPlatform();
  const sample = await openSampleExtension({ port: 0 });
  atEnd(() => sample[Symbol.asyncDispose]());
  const printed: string[] = [];
  expect((await fetch(sample.baseUrl)).status).toBe(503);
  const settings = {
    dir,
    ownKey: new Secret('o'.repeat(64)),
    registration: {
      name: 'sample',
      client_id: CLIENT.id,
      provisioning: KIT_SECRET,
      webhook: new Secret('webhook'),
      client: new Secret(CLIENT.secret),
    },
    platformUrl: platform.url,
    print: (message: string) => printed.push(message),
  };
  sample.begin(settings);
  expect(existsSync(dir)).toBe(false);
  const provision = async (id: string) => {
    const post = { method: 'POST', path: '/extensions', body: provisioning(id) };
    const { json } = await callSigned(sample.baseUrl, post);
    return json as { id: string; config: { SAMPLE_KV_URL: string; SAMPLE_KV_TOKEN: string } };
  };
  return { dir, platform, sample, settings, printed, provision, origin: new URL(sample.baseUrl).origin };
}

/** Programs reach it as they would any other: with curl and the URL of the variable. */
const curl = async (...words: string[]) => (await promisify(execFile)('curl', ['-sS', '-m', '10', ...words])).stdout;

describe('a program', () => {
  it('puts, gets, lists and deletes with the URL alone, and with the token', async () => {
    const { provision, origin } = await openSample();
    const { id, config } = await provision('e1');
    const { SAMPLE_KV_URL: url, SAMPLE_KV_TOKEN: token } = config;
    expect(new URL(url).password).toBe(token);
    await curl('-X', 'PUT', '--data-binary', 'hello', `${url}/greeting`);
    expect(await curl(`${url}/greeting`)).toBe('hello');
    const bearer = { headers: { authorization: `Bearer ${token}` } };
    const store = `${origin}/kv/${id}`;
    const put = await fetch(`${store}/a%2Fb/c`, { ...bearer, method: 'PUT', body: '<script>' });
    expect(put.status).toBe(204);
    const got = await fetch(`${store}/a/b/c`, bearer);
    expect(await got.text()).toBe('<script>');
    expect(got.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await (await fetch(store, bearer)).json()).toMatchObject({
      keys: [
        { key: 'a/b/c', bytes: 8 },
        { key: 'greeting', bytes: 5 },
      ],
    });
    expect((await fetch(`${store}/greeting`, { ...bearer, method: 'DELETE' })).status).toBe(204);
    expect((await fetch(`${store}/greeting`, bearer)).status).toBe(404);
  });

  it('gets nowhere with another access key, none, or the store of somebody else', async () => {
    const { provision, origin } = await openSample();
    const [one, two] = [await provision('e1'), await provision('e2')];
    const ask = (id: string, authorization: string) =>
      fetch(`${origin}/kv/${id}/x`, { headers: authorization === '' ? {} : { authorization } });
    for (const authorization of [
      '',
      'Bearer ',
      'Basic e30=',
      'Bearer kv_guess',
      `Bearer ${two.config.SAMPLE_KV_TOKEN}`,
    ]) {
      expect((await ask(one.id, authorization)).status).toBe(401);
    }
    expect((await ask('kv_none', `Bearer ${two.config.SAMPLE_KV_TOKEN}`)).status).toBe(401);
    expect((await ask(one.id, `Bearer ${one.config.SAMPLE_KV_TOKEN}`)).status).toBe(404);
  });

  it('finds limits: of a value, of a key, and of the plan', async () => {
    const { provision, origin } = await openSample();
    const { id, config } = await provision('e1');
    const put = async (key: string, bytes: number) => {
      const answer = await fetch(`${origin}/kv/${id}/${key}`, {
        method: 'PUT',
        body: 'x'.repeat(bytes),
        headers: { authorization: `Bearer ${config.SAMPLE_KV_TOKEN}` },
      });
      return answer.status;
    };
    expect(await put('large', 65_537)).toBe(413);
    expect(await put('k'.repeat(257), 1)).toBe(400);
    expect(await put('%ff', 1)).toBe(400);
    for (let part = 0; part < 4; part += 1) expect(await put(`part${part}`, 65_536)).toBe(204);
    expect(await put('one-more', 1)).toBe(409);
    expect(await put('part0', 65_000)).toBe(204);
    expect(await put('one-more', 536)).toBe(204);
    for (let key = 0; key < 95; key += 1) expect(await put(`k${key}`, 0)).toBe(204);
    expect(await put('one-too-many', 0)).toBe(409);
  });

  it('finds its store ended with the extension, and no key in plain text on the disk', async () => {
    const { provision, sample, origin, dir } = await openSample();
    const { id, config } = await provision('e1');
    const headers = { authorization: `Bearer ${config.SAMPLE_KV_TOKEN}` };
    await fetch(`${origin}/kv/${id}/a`, { method: 'PUT', body: 'b', headers });
    for (const name of readdirSync(dir)) {
      expect(readFileSync(join(dir, name)).includes(config.SAMPLE_KV_TOKEN), name).toBe(false);
    }
    const path = `/extensions/${id}`;
    expect((await callSigned(sample.baseUrl, { path })).json).toEqual({
      ...{ id, name: 'name-e1', organization_id: 'org_1', plan: 'free', status: 'ready' },
      ...{ keys: 1, bytes: 1 },
    });
    expect((await callSigned(sample.baseUrl, { method: 'DELETE', path })).status).toBe(204);
    expect((await fetch(`${origin}/kv/${id}/a`, { headers })).status).toBe(401);
    expect((await callSigned(sample.baseUrl, { path })).status).toBe(404);
  });
});

describe('a person', () => {
  async function signOn(opened: Awaited<ReturnType<typeof openSample>>, id: string) {
    const cookies = new Map<string, string>();
    const open = async (url: string, init: RequestInit = {}) => {
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const headers = { ...init.headers, cookie };
      const answer = await fetch(new URL(url, opened.origin), { redirect: 'manual', ...init, headers });
      for (const set of answer.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? [];
        cookies.set(name, value);
      }
      return answer;
    };
    const first = await open(`/stores/${id}`);
    expect(first.status).toBe(303);
    const begun = await open(first.headers.get('location') ?? '');
    const back = await open(opened.platform.agree(begun.headers.get('location') ?? ''));
    expect(back.headers.get('location')).toBe(`/stores/${id}`);
    return open;
  }

  const post = (body: string, origin: string) => ({
    method: 'POST',
    body,
    headers: { origin, 'content-type': 'application/x-www-form-urlencoded' },
  });

  it('sees the keys of a store of the organization, with what programs wrote as text', async () => {
    const opened = await openSample();
    const { id, config } = await opened.provision('e1');
    await curl('-X', 'PUT', '--data-binary', '<script>alert(1)</script>', `${config.SAMPLE_KV_URL}/%3Cb%3E`);
    const open = await signOn(opened, id);
    const page = await (await open(`/stores/${id}`)).text();
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;');
    expect(page).toContain('Ada &lt;b&gt;');
    expect(page).not.toMatch(/<script|<b>"/);
    // A member may look; the forms are those of an admin.
    expect(page).not.toContain('<form');
    expect((await open(`/stores/${id}`, post('plan=large', opened.origin))).status).toBe(403);
    expect((await open('/stores/kv_none')).status).toBe(404);
  });

  it('of another organization is sent to sign on, and stays outside', async () => {
    const opened = await openSample();
    const { id } = await opened.provision('e1');
    const other = await callSigned(opened.sample.baseUrl, {
      method: 'POST',
      path: '/extensions',
      body: provisioning('e2', { organization_id: 'org_2' }),
    });
    const open = await signOn(opened, id);
    const sent = await open(`/stores/${other.json.id}`);
    expect(sent.headers.get('location')).toBe(`${opened.sample.baseUrl}/extensions/${other.json.id}/sso`);
    const begun = await open(sent.headers.get('location') ?? '');
    expect((await open(opened.platform.agree(begun.headers.get('location') ?? ''))).status).toBe(403);
  });

  it('who is an admin takes another plan and deletes the store, from its own page only', async () => {
    const opened = await openSample();
    opened.platform.faults.info = { organizations: [{ id: 'org_1', role: 'admin' }] };
    const { id } = await opened.provision('e1');
    const open = await signOn(opened, id);
    const page = `/stores/${id}`;
    expect((await open(page, post('plan=large', 'https://evil.test'))).status).toBe(403);
    expect((await open(page, post('plan=huge', opened.origin))).status).toBe(400);
    expect((await open(page, post('plan=large', opened.origin))).status).toBe(303);
    const read = () => callSigned(opened.sample.baseUrl, { path: `/extensions/${id}` });
    expect((await read()).json.plan).toBe('large');
    expect((await open(page, post('action=delete', opened.origin))).status).toBe(303);
    expect((await open(page)).status).toBe(404);
    expect((await read()).status).toBe(404);
  });
});

describe('the bill', () => {
  const DAY_MS = 86_400_000;
  const NOON_MS = 20_000 * DAY_MS + DAY_MS / 2;
  let now_ms = NOON_MS;
  beforeEach(() => {
    now_ms = NOON_MS;
  });

  it('has each whole day of the plan once, and the same lines again, whatever becomes of the store', () => {
    using stores = openKvStores(join(tempDir(), 'kv.db'), () => now_ms);
    const { id } = stores.create({ extension_id: 'e1', name: 'n', organization_id: 'o' });
    const days = () => stores.charges(19_990 * DAY_MS, 20_010 * DAY_MS).map(({ day, cents }) => [day - 20_000, cents]);
    now_ms += 2 * DAY_MS;
    expect(days()).toEqual([]);
    stores.setPlan(id, 'large');
    now_ms += 3 * DAY_MS;
    const charged = [
      [3, 5],
      [4, 5],
    ];
    expect([days(), days()]).toEqual([charged, charged]);
    stores.setPlan(id, 'free');
    now_ms += DAY_MS;
    expect(days()).toEqual(charged);
    stores.setPlan(id, 'large');
    now_ms += 2 * DAY_MS;
    stores.remove(id);
    now_ms += 2 * DAY_MS;
    expect(days()).toEqual([...charged, [7, 5]]);
    expect(stores.charges(20_003 * DAY_MS, 20_004 * DAY_MS)).toEqual([{ store_id: id, day: 20_003, cents: 5 }]);
  });

  it('is in the form of the kit', async () => {
    const { sample, provision, dir } = await openSample();
    const { id } = await provision('e1');
    const past = vi.fn(() => Date.now() - 3 * DAY_MS);
    using stores = openKvStores(join(dir, 'kv.db'), past);
    stores.setPlan(id, 'large');
    const to = new Date().toISOString();
    const from = new Date(Date.now() - 10 * DAY_MS).toISOString();
    const { json } = await callSigned(sample.baseUrl, { path: '/billing', query: { from, to } });
    expect(json.items).toHaveLength(2);
    expect(json.items[0]).toMatchObject({ extension_id: id, amount: 5, currency: 'EUR' });
  });
});
