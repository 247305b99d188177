// Webhooks of providers: stored before they are answered, applied once, and never older than what is known.

import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { Secret } from '../../../src/core/secret.ts';
import { signContent } from '../../../src/core/signature.ts';
import type { ExtensionProvider } from '../../../src/platform/extension-providers/extension-provider.ts';
import { createWebhookBatches } from '../../../src/platform/extensions/webhooks/webhook-batches.ts';
import { createWebhookHandlers } from '../../../src/platform/extensions/webhooks/webhook-handlers.ts';
import { SQLITE_FILE } from '../../../src/platform/storage/sqlite-storage.ts';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import { openExtensions } from '../../support/provisioner.ts';
import { runHere } from '../../support/run-here.ts';

const now = () => Math.floor(Date.now() / 1_000);

async function open() {
  const fixture = await openExtensions();
  const made = (await fixture.create('my-kv', { app: 'web' })).json;
  const socketPath = join(fixture.platform.dir, 'platform.sock');
  // biome-ignore lint/suspicious/noExplicitAny: what the tests compare.
  const list = async (): Promise<any[]> => {
    const { json } = await ask(socketPath, { target: '/v1/extension-providers/kv/webhooks' });
    return (json as { webhooks: [] }).webhooks;
  };
  const outcomes = async () => (await list()).map(({ outcome }) => outcome).sort();
  return { ...fixture, id: made.provider_id as string, own: made.id as string, list, outcomes };
}

test('a change of status or plan is taken over, with fields that nobody knows', async () => {
  const { id, tell, read, list, own } = await open();
  const told = await tell('resource.updated', { id, status: 'sleeping', plan: 'large', zone: { x: [1] } });
  expect(told).toEqual({ status: 202, text: '' });
  expect(await read('my-kv')).toMatchObject({ state: 'ready', status: 'sleeping', plan: 'large' });
  expect((await read('my-kv')).resource).toEqual({ id, status: 'sleeping', plan: 'large', zone: { x: [1] } });
  expect(await list()).toMatchObject([
    { action: 'resource.updated', resource_id: id, extension: own, outcome: 'applied' },
  ]);
});

test('a removal at the provider takes the variables away', async () => {
  const { id, provider, tell, read, own, variables } = await open();
  await tell('resource.deleted', { id });
  expect(await variables()).toEqual([]);
  expect((await read(own)).state).toBe('deleted');
  expect(provider.of('DELETE')).toEqual([]);
});

test('the same one counts once, however its signature is written', async () => {
  const { id, registered, platform, read, outcomes } = await open();
  const body = JSON.stringify({ timestamp: now(), action: 'resource.updated', resource: { id, status: 'one' } });
  const hex = signContent(registered.secrets.webhook, body);
  const send = async (signature: string) => {
    const headers = { 'content-type': 'application/json', 'x-signature': signature };
    return (await fetch(`${platform.url}/api/hooks/extensions/kv`, { method: 'POST', headers, body })).status;
  };
  const forms = [hex, hex.toUpperCase(), `sha256=${hex}`, Buffer.from(hex, 'hex').toString('base64')];
  expect(await Promise.all(forms.map(send))).toEqual([202, 202, 202, 202]);
  expect((await read('my-kv')).status).toBe('one');
  expect(await outcomes()).toEqual(['applied']);
});

test('an older one is recorded and not applied; of the same second the later one counts', async () => {
  const { id, tell, read, outcomes } = await open();
  const at = now();
  await tell('resource.updated', { id, status: 'second' }, at);
  expect((await tell('resource.updated', { id, status: 'first' }, at - 10)).status).toBe(202);
  expect((await read('my-kv')).status).toBe('second');
  await tell('resource.updated', { id, status: 'third' }, at);
  expect((await read('my-kv')).status).toBe('third');
  expect((await tell('resource.deleted', { id }, at - 10)).status).toBe(202);
  expect((await read('my-kv')).state).toBe('ready');
  expect(await outcomes()).toEqual(['applied', 'applied', 'stale', 'stale']);
});

test.each([
  ['no signature', undefined, ''],
  ['another secret', undefined, signContent(new Secret('x'), 'x')],
  ['a time 301 s ago', -301, undefined],
  ['a time in 310 s', 310, undefined],
])('one with %s is refused in the same words, and changes nothing', async (_, shift, signature) => {
  const { id, tell, read, list } = await open();
  const refused = await tell('resource.updated', { id, status: 'forged' }, now() + (shift ?? 0), signature);
  expect([refused.status, JSON.parse(refused.text)]).toEqual([
    401,
    { error: 'unauthorized', message: expect.stringMatching(/^the webhook is not signed .* HMAC-SHA256 .* 300 s$/) },
  ]);
  expect((await read('my-kv')).status).toBe('ready');
  expect(await list()).toEqual([]);
});

test('an unknown provider, a body that is no webhook, and one that is too long are refused', async () => {
  const { platform, tell } = await open();
  const send = async (name: string, body: string) =>
    (
      await fetch(`${platform.url}/api/hooks/extensions/${name}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-signature': 'a'.repeat(64) },
        body,
      })
    ).status;
  const body = JSON.stringify({ timestamp: now(), action: 'resource.updated', resource: { id: 'x' } });
  expect(await send('none', body)).toBe(401);
  expect(await send('kv', '{}')).toBe(400);
  expect(await send('kv', 'x')).toBe(400);
  expect(await send('kv', `${body.slice(0, -1)},"pad":"${'x'.repeat(70_000)}"}`)).toBe(413);
  expect((await tell('resource.exploded', { id: 'x' })).status).toBe(400);
});

test('both secrets are good while one is changed', async () => {
  const { id, tell, platform, read } = await open();
  const dir = ['--dir', platform.dir];
  await runHere(['platform', 'extension-provider', 'rotate-secret', 'kv', 'webhook', '--overlap', '1h', ...dir]);
  expect((await tell('resource.updated', { id, status: 'old-secret' })).status).toBe(202);
  expect((await read('my-kv')).status).toBe('old-secret');
  await runHere(['platform', 'extension-provider', 'rotate-secret', 'kv', 'webhook', '--overlap', '0s', ...dir]);
  // The old secret ends within a second.
  await eventually(async () => (await tell('resource.updated', { id, status: 'gone' })).status === 401);
});

test('a webhook that comes before, during or after the question for the status ends in the same state', async () => {
  for (const order of ['before', 'during', 'after'] as const) {
    const { provider, create, read, tell } = await openExtensions();
    let answered = 0;
    let told: Promise<unknown> | undefined;
    provider.spoil(async ({ method, path, json }, response) => {
      if (method === 'POST' && order === 'before') {
        await tell('resource.created', { id: `r-${json.id}`, name: json.name, status: 'ready', ...owner(json) });
        return false;
      }
      if (method !== 'GET') return false;
      const id = path.split('/').at(-1) ?? '';
      answered += 1;
      if (order === 'during' && answered === 1) await tell('resource.updated', { id, status: 'sleeping' });
      response.end(JSON.stringify({ id, status: 'provisioning' }));
      if (order === 'after' && answered === 1)
        setTimeout(() => {
          told = tell('resource.updated', { id, status: 'sleeping' });
        }, 60);
      return true;
    });
    const { id } = (await create('my-kv', { app: 'web' })).json;
    await eventually(async () => (await read(id)).state === 'ready');
    await told;
    expect((await read(id)).status).toBe(order === 'before' ? 'ready' : 'sleeping');
  }
});

const owner = ({ organization_id, user_id }: { organization_id: string; user_id: string }) => ({
  organization_id,
  user_id,
});

test('one that nobody asked for is kept where its user has an extension of the provider, without variables', async () => {
  const { platform, provider, user, tell, call, variables, outcomes } = await open();
  const organization_id = provider.of('POST')[0]?.json.organization_id;
  const told = { id: 'r-own', name: 'made-there', organization_id, user_id: user.id, status: 'ready' };
  expect((await tell('resource.created', told)).status).toBe(202);
  const { extensions } = (await call('GET', '/v1/extensions')).json;
  expect(extensions[1]).toMatchObject({
    name: 'made-there',
    unrequested: true,
    state: 'ready',
    variables: [],
    provider_id: 'r-own',
  });
  expect(await variables()).toEqual(['KV_KEY', 'KV_URL']);
  await platform.admin.createOrganization('other');
  const [other] = (await platform.admin.listOrganizations()).filter(({ slug }) => slug === 'other');
  const refused = [
    { ...told, id: 'r-2', organization_id: other?.id },
    { ...told, id: 'r-3', user_id: 'user_none' },
    { ...told, id: 'r-4', organization_id: 'org_none' },
  ];
  for (const each of refused) expect((await tell('resource.created', each)).status).toBe(202);
  expect((await call('GET', '/v1/extensions')).json.extensions.length).toBe(2);
  expect(await outcomes()).toEqual(['created', 'refused', 'refused', 'refused']);
});

test('one that comes once more does nothing, also when another word has come since', async () => {
  const { id, provider, registered, platform, call, read } = await open();
  const body = JSON.stringify({ timestamp: now(), action: 'resource.updated', resource: { id, status: 'told' } });
  const headers = {
    'content-type': 'application/json',
    'x-signature': signContent(registered.secrets.webhook, body),
  };
  const send = async () =>
    (await fetch(`${platform.url}/api/hooks/extensions/kv`, { method: 'POST', headers, body })).status;
  expect(await send()).toBe(202);
  expect((await read('my-kv')).status).toBe('told');
  provider.resources.set(id, { status: 'asked', plan: 'small' });
  await call('GET', '/v1/extensions/my-kv?refresh=true');
  expect(await send()).toBe(202);
  expect((await read('my-kv')).status).toBe('asked');
});

test('a creation is believed of members only, and of organizations that know the provider', async () => {
  const { platform, provider, user, tell, outcomes } = await open();
  const { organization_id } = provider.of('POST')[0]?.json ?? {};
  await platform.admin.createOrganization('other');
  const stranger = { email: 'eve@example.com', name: 'Eve', organization: 'other', role: 'admin' } as const;
  const eve = (await platform.admin.createUser(stranger)).user;
  const membership = ['--organization', 'other', '--role', 'admin', '--dir', platform.dir];
  expect((await runHere(['platform', 'user', 'set-role', 'ada@example.com', ...membership])).err).toBe('');
  const [other] = (await platform.admin.listOrganizations()).filter(({ slug }) => slug === 'other');
  const told = { name: 'made-there', status: 'ready' };
  await tell('resource.created', { ...told, id: 'r-1', organization_id, user_id: eve.id });
  await tell('resource.created', { ...told, id: 'r-2', organization_id: other?.id, user_id: user.id });
  expect(await outcomes()).toEqual(['refused', 'refused']);
  await tell('resource.created', { ...told, id: 'r-3', organization_id, user_id: user.id });
  expect(await outcomes()).toEqual(['created', 'refused', 'refused']);
});

test('a provider tells of its own resources only, and of a name that waits in the same organization', async () => {
  const { id, platform, provider, registered, tell, create, read, list } = await open();
  const other = await platform.admin.registerExtensionProvider({ name: 'other', base_url: provider.base_url });
  const body = JSON.stringify({ timestamp: now(), action: 'resource.deleted', resource: { id } });
  const send = async (name: string, secret: Secret) => {
    const headers = { 'content-type': 'application/json', 'x-signature': signContent(secret, body) };
    return (await fetch(`${platform.url}/api/hooks/extensions/${name}`, { method: 'POST', headers, body })).status;
  };
  expect(await send('other', other.secrets.webhook)).toBe(202);
  expect(await send('other', registered.secrets.webhook)).toBe(401);
  expect((await read('my-kv')).state).toBe('ready');

  const gate = Promise.withResolvers<void>();
  provider.spoil(async ({ method }) => {
    if (method === 'POST') await gate.promise;
    return false;
  });
  const making = create('waiting');
  await eventually(() => provider.of('POST').length === 2);
  const { organization_id, user_id } = provider.of('POST')[1]?.json ?? {};
  const told = { id: 'r-x', name: 'waiting', status: 'ready', user_id };
  await tell('resource.created', { ...told, organization_id: 'org_other' });
  expect((await read('waiting')).status).toBe(null);
  await tell('resource.created', { ...told, organization_id });
  expect((await read('waiting')).status).toBe('ready');
  gate.resolve();
  expect((await making).json.state).toBe('ready');
  expect((await list()).map(({ outcome }) => outcome)).toEqual(['applied', 'refused']);
});

test('those that changed nothing are kept up to a thousand, and none is forgotten that could be sent again', async () => {
  const { id, platform, tell } = await open();
  const db = new Database(join(platform.dir, SQLITE_FILE));
  const insert = db.prepare(
    `INSERT INTO extension_webhooks (provider, digest, received_at, told_at, action, resource_id, outcome)
     VALUES ('kv', randomblob(32), ?, 1, 'resource.updated', 'r-lost', 'unknown')`,
  );
  const count = db
    .prepare("SELECT count(*) FROM extension_webhooks WHERE outcome = 'unknown' AND received_at > ?")
    .pluck();
  const counts = () => [count.get(0), count.get(Date.now() - 600_000)];
  db.transaction(() => {
    for (let count = 0; count < 1_500; count += 1) insert.run(Date.now() - 1_200_000 - count);
    for (let count = 0; count < 1_500; count += 1) insert.run(Date.now() - count);
  })();
  expect(counts()).toEqual([3_000, 1_500]);
  // The first one that comes looks after them.
  await tell('resource.updated', { id, status: 'x' });
  expect(counts()).toEqual([1_500, 1_500]);
  db.close();
});

test('a provider that sends too many is told when to send them again, and others are not', async () => {
  const secret = new Secret('webhook secret');
  let mono_ms = 0;
  const taken: string[] = [];
  const { receiveExtensionWebhook } = createWebhookHandlers({
    providers: {
      find: async (name) => ({ name }) as ExtensionProvider,
      openSecrets: async () => [secret],
    },
    take: async (provider) => taken.push(provider) > 100,
    look: () => undefined,
    clock: { wall_ms: () => Date.now(), mono_ms: () => mono_ms },
    rate: { burst: 3, perSecond: 2 },
  });
  const send = async (provider: string, signedWith = secret) => {
    const body = { timestamp: now(), action: 'resource.updated' as const, resource: { id: 'x' } };
    const rawBody = Buffer.from(JSON.stringify(body));
    const request = { headers: { 'x-signature': signContent(signedWith, rawBody) } };
    const call = { params: { provider }, body, rawBody, request } as unknown as Parameters<
      typeof receiveExtensionWebhook
    >[0];
    const end = Promise.resolve(receiveExtensionWebhook(call));
    return await end.then(
      () => 'taken',
      ({ code, retryAfter_ms }) => `${code} ${retryAfter_ms}`,
    );
  };
  // What is forged uses nothing up.
  for (let count = 0; count < 5; count += 1) expect(await send('kv', new Secret('x'))).toMatch(/^unauthorized/);
  const ends = [];
  for (let count = 0; count < 4; count += 1) ends.push(await send('kv'));
  expect(ends).toEqual(['taken', 'taken', 'taken', 'too_many_requests 500']);
  expect(await send('other')).toBe('taken');
  mono_ms += 500;
  expect([await send('kv'), await send('kv')]).toEqual(['taken', 'too_many_requests 500']);
  expect(taken).toHaveLength(5);
});

const toGiven = (resource_id: string) => ({
  webhook: { timestamp: '1', action: 'resource.updated' as const, resource: { id: resource_id } },
  recorded: {
    ...{ provider: 'kv', digest: Buffer.alloc(32), received_at: 1, told_at: 1 },
    ...{ action: 'resource.updated', resource_id },
  },
});

test('one that fails fails alone', async () => {
  const sizes: number[] = [];
  const take = createWebhookBatches(async (_provider, given) => {
    sizes.push(given.length);
    await nextTurn();
    if (given.some(({ recorded }) => recorded.resource_id === 'bad')) throw new Error('it cannot be stored');
    return given.map(() => ({ outcome: 'applied', app: null }));
  });
  const ends = await Promise.allSettled(['a', 'b', 'bad', 'c', 'd'].map((id) => take('kv', toGiven(id))));
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
  expect(sizes).toEqual([5, 1, 1, 1, 1, 1]);
});

test('those of one turn of the event loop are one batch of at most 32, each provider has its own, and a single one does not wait', async () => {
  const batches: string[] = [];
  const take = createWebhookBatches(async (provider, given) => {
    batches.push(`${provider} ${given.length}`);
    return given.map(({ recorded }) => ({ outcome: 'applied', app: recorded.resource_id }));
  });
  const ends: Promise<unknown>[] = [take('sql', toGiven('alone'))];
  for (let index = 0; index < 40; index += 1) {
    ends.push(take('kv', toGiven(String(index))));
    await new Promise<void>((resolve) => process.nextTick(resolve));
  }
  const apps = ['alone', ...Array.from({ length: 40 }, (_, index) => String(index))];
  expect(await Promise.all(ends)).toEqual(apps.map((app) => ({ outcome: 'applied', app })));
  expect(batches.sort()).toEqual(['kv 32', 'kv 8', 'sql 1']);
});

test('one of a resource that is not known is recorded, and makes and deletes nothing', async () => {
  const { platform, provider, tell, call, list } = await open();
  for (const action of ['resource.updated', 'resource.deleted']) await tell(action, { id: 'r-lost', status: 'ready' });
  expect(await list()).toMatchObject([
    { resource_id: 'r-lost', extension: null, outcome: 'unknown' },
    { resource_id: 'r-lost', extension: null, outcome: 'unknown' },
  ]);
  expect((await call('GET', '/v1/extensions')).json.extensions.length).toBe(1);
  expect(provider.of('DELETE')).toEqual([]);
  expect(platform.log.filter(({ outcome }) => outcome === 'unknown').length).toBe(2);
});
