// Providers that are slow, lie, answer late, twice, too much, half, or not at all: one resource, nothing forgotten, and a platform that
// goes on.
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { SQLITE_FILE } from '../../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { IMPATIENT, openExtensions, QUICK, type Spoil } from '../../support/provisioner.ts';

/** Answers each provisioning request with this text. */
const says =
  (text: string, status = 200, headers: Record<string, string> = {}): Spoil =>
  ({ method }, response) => {
    if (method !== 'POST') return false;
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    return true;
  };
const config = (values: unknown, more: object = {}) => JSON.stringify({ id: 'r-1', config: values, ...more });

const noAnswers: readonly (readonly [string, string])[] = [
  ['no JSON', '<html>'],
  ['an empty body', ''],
  ['another shape', '[]'],
  ['no id', '{"config":{}}'],
  ['an id that is a path', config({}, { id: '../x/..' }).replace('"../x/.."', '".."')],
  ['an id with controls', config({}, { id: 'a\nb' })],
  ['a long id', config({}, { id: 'x'.repeat(256) })],
  ['no config', '{"id":"r-1"}'],
  ['a variable of the loader', config({ LD_PRELOAD: '/x' })],
  ['a variable of ours', config({ REMORA_TOKEN: 'x' })],
  ['PATH', config({ PATH: '/x' })],
  ['a name that is none', config({ 'a b': 'x' })],
  ['a value with NUL', config({ A: 'canary\0' })],
  ['a value that is no text', config({ A: { canary: 1 } })],
  ['65 variables', config(Object.fromEntries(Array.from({ length: 65 }, (_, index) => [`A${index}`, 'canary'])))],
  ['a depth of 1,000', '['.repeat(1_000) + ']'.repeat(1_000)],
];

test('what is no answer fails with words of ours, can be tried again, and be deleted', async () => {
  const { provider, platform, call, create, variables } = await openExtensions();
  const shown: unknown[] = [];
  for (const [index, [what, text]] of noAnswers.entries()) {
    const name = `kv-${index}`;
    provider.spoil(says(text));
    const { status, json } = await create(name, { app: 'web' });
    shown.push(json);
    expect([status, json.state, json.error.code], what).toEqual([202, 'failed', 'invalid_answer']);
    expect(await variables()).toEqual([]);
    provider.spoil(() => false);
    expect((await call('POST', `/v1/extensions/${name}/retry`)).json.state, what).toBe('ready');
    expect((await call('DELETE', `/v1/extensions/${name}`)).status, what).toBe(204);
    expect(provider.resources.size, what).toBe(0);
  }
  expect(JSON.stringify([shown, platform.log])).not.toContain('canary');
});

test('a redirect is not followed', async () => {
  const { provider, create } = await openExtensions();
  for (const status of [302, 307, 308]) {
    provider.spoil(says('', status, { location: `${provider.base_url}/elsewhere` }));
    expect((await create(`kv-${status}`)).json).toMatchObject({ state: 'failed', error: { code: 'invalid_answer' } });
  }
  expect(new Set(provider.asked.map(({ path }) => path))).toEqual(new Set(['/platform/extensions']));
});

test('a removal that is answered with a redirect is no removal', async () => {
  const { provider, create, call, read } = await openExtensions({ extensionTimes: IMPATIENT });
  const { id } = (await create('my-kv')).json;
  provider.spoil(({ method }, response) => {
    if (method === 'DELETE') response.writeHead(302, { location: provider.base_url }).end();
    return method === 'DELETE';
  });
  expect((await call('DELETE', `/v1/extensions/${id}`)).json).toMatchObject({ state: 'deleting' });
  provider.spoil(() => false);
  await eventually(async () => (await read(id)).state === 'deleted');
  expect(provider.resources.size).toBe(0);
});

test('words of a refusal are shown, short and without what moves a terminal', async () => {
  const { provider, create, platform } = await openExtensions();
  provider.spoil(says(JSON.stringify({ message: `sold \u001b]0;x\u0007out\u202e ${'y'.repeat(5_000)}` }), 422));
  const { error } = (await create('my-kv')).json;
  expect(error.code).toBe('provider_refused');
  expect(error.message).toMatch(/^the provider answered 422: sold \]0;x out y+…$/);
  expect(error.message.length).toBeLessThan(400);
  const { runHere } = await import('../../support/run-here.ts');
  const told = await runHere(['platform', 'extension', 'create', 'kv', 'other', '--dir', platform.dir]);
  expect(told).toMatchObject({ code: 1, out: expect.stringContaining('provider_refused') });
  expect(told.err).toContain('`extension retry other` tries it again');
});

test('an answer that is lost, or comes after the time, is asked for again with the same id and another nonce', async () => {
  // The fourth one may be too late as well, on a machine with much other work.
  const extensionTimes = { ...IMPATIENT, provision_ms: 1_500, down_ms: 30_000 };
  const { provider, create, read } = await openExtensions({ extensionTimes });
  let answerLate = () => {};
  provider.spoil(async (asked, response, request) => {
    if (asked.method !== 'POST') return false;
    const count = provider.of('POST').length;
    if (count > 3) {
      answerLate();
      answerLate = () => {};
      return false;
    }
    const id = `r-${asked.json.id}`;
    provider.resources.set(id, { status: 'ready', plan: 'small' });
    if (count === 1) request.socket.destroy();
    else if (count === 2) {
      response.writeHead(200, { 'content-length': 1_000 });
      response.write(`{"id":"${id}","config":{"A`);
      setTimeout(() => request.socket.destroy(), 10);
    } else answerLate = () => provider.answer(asked, response);
    return true;
  });
  await create('my-kv', { app: 'web' });
  await eventually(async () => (await read('my-kv')).state === 'ready');
  const posts = provider.of('POST');
  expect(posts.length).toBeGreaterThanOrEqual(4);
  expect(new Set(posts.map(({ json }) => json.id)).size).toBe(1);
  expect(new Set(posts.map(({ json }) => json.nonce)).size).toBe(posts.length);
  expect(provider.resources.size).toBe(1);
});

test('an answer without end is cut off, and the platform goes on', async () => {
  const { provider, create, call, platform } = await openExtensions();
  const sent: number[] = [];
  provider.spoil(({ method }, response) => {
    if (method !== 'POST' && method !== 'DELETE') return false;
    response.writeHead(200);
    const index = sent.push(0) - 1;
    const count = () => sent[index] ?? 0;
    const chunk = 'x'.repeat(16 * 1024);
    const write = () => {
      while (!response.destroyed && count() < 100 * 1024 * 1024) {
        sent[index] = count() + chunk.length;
        if (!response.write(chunk)) {
          response.once('drain', write);
          return;
        }
      }
    };
    write();
    return true;
  });
  expect((await create('my-kv')).json).toMatchObject({
    state: 'failed',
    error: { code: 'invalid_answer', message: expect.stringContaining('too long') },
  });
  expect(provider.of('POST').length).toBe(1);
  // What a deletion is answered besides its status is of no interest.
  await call('DELETE', '/v1/extensions/my-kv');
  await eventually(async () => (await call('GET', '/v1/extensions')).json.extensions.length === 0);
  // What the sockets of both sides hold, and no more.
  for (const bytes of sent) expect(bytes).toBeLessThan(10 * 1024 * 1024);
  expect((await platform.call({ path: '/v1/health' })).status).toBe(200);
});

test('an answer that comes byte by byte, or has a header without end, is not waited for', async () => {
  const { provider, create, read } = await openExtensions({ extensionTimes: { ...IMPATIENT, down_ms: 60_000 } });
  const drips: Spoil = ({ method }, response) => {
    if (method !== 'POST') return false;
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 20);
    response.once('close', () => clearInterval(timer));
    return true;
  };
  const floods: Spoil = ({ method }, _response, { socket }) => {
    if (method !== 'POST') return false;
    socket.write('HTTP/1.1 200 OK\r\n');
    const timer = setInterval(() => socket.write(`x-${'y'.repeat(1_000)}: z\r\n`), 1);
    socket.once('close', () => clearInterval(timer));
    return true;
  };
  for (const [name, spoil, code] of [
    ['drips', drips, 'provider_slow'],
    ['floods', floods, 'provider_down'],
  ] as const) {
    provider.spoil(spoil);
    await create(name);
    await eventually(async () => (await read(name)).error?.code === code);
    provider.spoil(() => false);
    await eventually(async () => (await read(name)).state === 'ready');
  }
});

test('a provider that answers twice on a connection is heard once', async () => {
  const { provider, create, read } = await openExtensions();
  const toAnswer = (body: object) => {
    const text = JSON.stringify(body);
    return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n${text}`;
  };
  const second = toAnswer({ id: 'r-other', status: 'second', config: { SECOND: 'x' } });
  const late = new Set<Socket>();
  let count = 0;
  provider.spoil(({ method, path, json }, _response, { socket }) => {
    if (late.delete(socket)) socket.write(second);
    const id = method === 'POST' ? `r-${json.id}` : path.split('/').at(-1);
    count += 1;
    socket.write(toAnswer({ id, status: 'ready', config: { [`KEY_${count}`]: 'x' } }));
    // The second answer comes at once, a while later, or just when the connection has the next request.
    if (count % 3 === 0) socket.write(second);
    else if (count % 3 === 1) setTimeout(() => socket.write(second), 5);
    else late.add(socket);
    return true;
  });
  for (let index = 0; index < 12; index += 1) {
    const name = `twice-${index}`;
    expect((await create(name)).status).toBe(201);
    const { id, provider_id, status, variables } = await read(name);
    expect({ provider_id, status }).toEqual({ provider_id: `r-${id}`, status: 'ready' });
    expect(variables).not.toContain('SECOND');
  }
  expect(provider.of('POST').length).toBe(12);
});

test('a provider that is down fails it after a while, with what was wrong, and a retry finds it up', async () => {
  const clock = { step_ms: 0, wall_ms: () => Date.now() + clock.step_ms, mono_ms: () => performance.now() };
  const extensionTimes = { ...QUICK, answerWithin_ms: 200, down_ms: 300_000 };
  const { provider, call, create, read } = await openExtensions({ extensionTimes, clock });
  provider.spoil(says('{"error":"database on fire"}', 500));
  expect((await create('my-kv')).json.state).toBe('provisioning');
  await eventually(async () => (await read('my-kv')).error?.code === 'provider_down');
  expect((await read('my-kv')).state).toBe('provisioning');
  clock.step_ms = 301_000;
  await eventually(async () => (await read('my-kv')).state === 'failed');
  expect((await read('my-kv')).error.message).toBe('the provider answered 500: database on fire');
  provider.spoil(() => false);
  await call('POST', '/v1/extensions/my-kv/retry');
  await eventually(async () => (await read('my-kv')).state === 'ready');
});

test('one that asks for patience is not given up, and not asked before Retry-After', async () => {
  const { provider, create, read } = await openExtensions();
  const times: number[] = [];
  provider.spoil(({ method }, response) => {
    if (method !== 'POST') return false;
    times.push(performance.now());
    if (times.length > 2) return false;
    response.writeHead(503, { 'retry-after': '1' }).end();
    return true;
  });
  await create('my-kv');
  await eventually(async () => (await read('my-kv')).state === 'ready');
  expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThan(950);
});

test('an id of another extension is not believed, and a deletion does not touch the other one', async () => {
  const { provider, call, create, read, variables } = await openExtensions();
  const first = (await create('first', { app: 'web' })).json;
  provider.spoil(says(JSON.stringify({ id: first.provider_id, config: { STOLEN: 'x' } })));
  expect((await create('second', { app: 'web' })).json).toMatchObject({ state: 'failed', provider_id: null });
  expect(await variables()).toEqual(['KV_KEY', 'KV_URL']);
  expect((await call('DELETE', '/v1/extensions/second')).status).toBe(204);
  expect(provider.of('DELETE').map(({ path }) => path.endsWith(first.provider_id))).toEqual([false]);
  expect((await read('first')).state).toBe('ready');
});

test('an id that changes later is refused; a name and an app are taken over where they may be', async () => {
  const { provider, call, create, read, platform } = await openExtensions();
  await create('taken');
  provider.spoil(({ method, json }, response) => {
    if (method !== 'POST' && method !== 'PATCH') return false;
    const named = method === 'POST' ? { name: 'renamed', platform_app_name: 'web' } : { id: 'r-other', name: 'taken' };
    const id = `r-${json.id}`;
    provider.resources.set(id, { status: 'ready', plan: 'small' });
    response.end(JSON.stringify({ id, config: {}, ...named }));
    return true;
  });
  const made = (await create('my-kv')).json;
  // The provider has no app of its own here.
  expect(made).toMatchObject({ name: 'renamed', platform_app_name: null, state: 'ready' });
  await call('PATCH', `/v1/extensions/${made.id}`, { primary_region: 'fra' });
  expect(await read(made.id)).toMatchObject({ name: 'renamed', provider_id: made.provider_id });
  expect(platform.log.some(({ message }) => String(message).includes('changed the id'))).toBe(true);
  await call('DELETE', `/v1/extensions/${made.id}`);
  const { runHere } = await import('../../support/run-here.ts');
  const { err } = await runHere(['platform', 'extension', 'create', 'kv', 'my-kv', '--dir', platform.dir]);
  expect(err).toMatch(/^asking kv for my-kv\n[\s\S]*kv calls it renamed, and so do later commands$/);
  provider.spoil(({ method, json }, response) => {
    if (method !== 'POST') return false;
    response.end(JSON.stringify({ id: `r-${json.id}`, config: {}, name: 'ext_of_another' }));
    return true;
  });
  expect((await create('by-id')).json).toMatchObject({ name: 'by-id', state: 'ready' });
});

test('the app of a private address is one of the organization whose app the provider runs as', async () => {
  const { provider, platform, create } = await openExtensions();
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  await platform.call({ method: 'POST', path: '/v1/apps', body: { name: 'foreign' }, token: other });
  const own = await platform.admin.registerExtensionProvider({ name: 'own', base_url: provider.base_url, app: 'web' });
  provider.secrets.push(own.secrets.provisioning);
  const expected = { web: 'web', foreign: null, none: null, 'nul\0': null };
  for (const [index, [named, taken]] of Object.entries(expected).entries()) {
    provider.spoil(({ method, json }, response) => {
      if (method !== 'POST') return false;
      response.end(JSON.stringify({ id: `r-${json.id}`, config: {}, platform_app_name: named }));
      return true;
    });
    const { json } = await create(`own-${index}`, { provider: 'own' });
    expect(json).toMatchObject({ state: 'ready', platform_app_name: taken });
  }
});

test('a deletion in the middle of a request waits for its end, and removes what it made', async () => {
  const { provider, call, create, read } = await openExtensions();
  const gate = Promise.withResolvers<void>();
  provider.spoil(async ({ method }) => {
    if (method === 'POST') await gate.promise;
    return false;
  });
  const making = create('my-kv', { app: 'web' });
  await eventually(() => provider.of('POST').length === 1);
  const removing = call('DELETE', '/v1/extensions/my-kv');
  await eventually(async () => (await read('my-kv')).state === 'deleting');
  gate.resolve();
  expect((await removing).status).toBe(204);
  await making;
  expect(provider.resources.size).toBe(0);
  expect(provider.asked.map(({ method }) => method)).toEqual(['POST', 'DELETE']);
});

test('a deletion after a lost answer finds what the provider calls it, and removes that', async () => {
  const extensionTimes = { ...QUICK, answerWithin_ms: 500, down_ms: 60_000 };
  const { provider, call, create, read } = await openExtensions({ extensionTimes });
  let isLosing = true;
  provider.spoil(({ method, json }, _response, request) => {
    if (method !== 'POST' || !isLosing) return false;
    provider.resources.set(`r-${json.id}`, { status: 'ready', plan: 'small' });
    request.socket.destroy();
    return true;
  });
  const { id } = (await create('my-kv')).json;
  await eventually(() => provider.resources.size === 1);
  isLosing = false;
  expect([202, 204]).toContain((await call('DELETE', '/v1/extensions/my-kv')).status);
  await eventually(async () => (await read(id)).state === 'deleted');
  expect(provider.resources.size).toBe(0);
});

test('what a process is told after the end of its claim is not recorded: another one goes on', async () => {
  const { provider, platform, create, call, read } = await openExtensions({
    extensionTimes: { ...QUICK, answerWithin_ms: 100 },
  });
  const gate = Promise.withResolvers<void>();
  provider.spoil(async ({ method }, response) => {
    if (method !== 'POST') return false;
    await gate.promise;
    response.writeHead(422).end();
    return true;
  });
  const { id } = (await create('my-kv', { app: 'web' })).json;
  await eventually(() => provider.of('POST').length === 1);
  const db = new Database(join(platform.dir, SQLITE_FILE));
  db.prepare("UPDATE extensions SET claim = 'other/1' WHERE id = ?").run(id);
  gate.resolve();
  await eventually(() => platform.log.some(({ extension, outcome }) => extension === id && outcome === 'refused'));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(await read(id)).toMatchObject({ state: 'provisioning', error: null });
  provider.spoil(() => false);
  db.prepare('UPDATE extensions SET claim = NULL, claim_until = NULL WHERE id = ?').run(id);
  db.close();
  await call('POST', `/v1/extensions/${id}/retry`);
  await eventually(async () => (await read(id)).state === 'ready');
});

test('a provider without a status is believed by its answer', async () => {
  const { provider, create } = await openExtensions();
  for (const status of [404, 405, 501]) {
    provider.spoil(({ method }, response) => {
      if (method !== 'GET') return false;
      response.writeHead(status).end();
      return true;
    });
    expect((await create(`kv-${status}`)).json).toMatchObject({ state: 'ready', status: null });
  }
});

test('a provider that never answers takes no place from another, and a platform that ends does not wait for it', async () => {
  const { provider, platform, create, call, read } = await openExtensions({
    extensionTimes: { answerWithin_ms: 100, provision_ms: 30_000 },
  });
  const quick = await openExtensionsBeside(platform);
  provider.spoil(({ method }) => method === 'POST');
  const made = await Promise.all(Array.from({ length: 12 }, (_, index) => create(`slow-${index}`)));
  expect(made.map(({ status }) => status)).toEqual(made.map(() => 202));
  // Eight at once, and no more.
  await eventually(() => provider.of('POST').length === 8);
  const { id } = (await call('POST', '/v1/extensions', { provider: 'quick', name: 'fast' })).json;
  await eventually(async () => (await read(id)).state === 'ready');
  expect([quick.of('POST').length, provider.of('POST').length]).toEqual([1, 8]);
  const begun = performance.now();
  await platform[Symbol.asyncDispose]();
  expect(performance.now() - begun).toBeLessThan(20_000);
});

async function openExtensionsBeside(platform: Awaited<ReturnType<typeof openExtensions>>['platform']) {
  const { startProvisioner } = await import('../../support/provisioner.ts');
  const provider = await startProvisioner();
  const made = await platform.admin.registerExtensionProvider({ name: 'quick', base_url: provider.base_url });
  provider.secrets.push(made.secrets.provisioning);
  return provider;
}

test('a provider whose port is closed is one that is down', async () => {
  const extensionTimes = { ...IMPATIENT, down_ms: 300_000 };
  const { provider, create, read } = await openExtensions({ extensionTimes });
  provider.server.closeAllConnections();
  await new Promise((resolve) => provider.server.close(resolve));
  const port = Number(new URL(provider.base_url).port);
  await new Promise<void>((resolve) => connect(port, '127.0.0.1').once('error', () => resolve()));
  await create('my-kv');
  await eventually(async () => (await read('my-kv')).error?.code === 'provider_down');
  expect((await read('my-kv')).state).toBe('provisioning');
});
