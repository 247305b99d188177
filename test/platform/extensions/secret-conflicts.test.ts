// A variable of an app has one owner: an extension or the operators. Who comes second gets nothing, and takes nothing away.
import { expect, test } from 'vitest';
import { openExtensions } from '../../support/provisioner.ts';

async function open() {
  const fixture = await openExtensions();
  const { call } = fixture;
  await call('POST', '/v1/apps', { name: 'other' });
  const owners = async (app = 'web') =>
    (await call('GET', `/v1/apps/${app}/secrets`)).json.secrets.map(
      ({ name, owner }: { name: string; owner: { id?: string } }) => `${name} ${owner.id ?? 'operator'}`,
    );
  const both = (id: string) => [`KV_KEY ${id}`, `KV_URL ${id}`];
  return { ...fixture, owners, both };
}

test('of two extensions with the same names the second fails, and is ready when the first is gone', async () => {
  const { provider, call, create, read, owners, both } = await open();
  const first = (await create('first', { app: 'web' })).json;
  const refused = await create('second', { app: 'web' });
  expect([refused.status, refused.json.error]).toEqual([409, 'secret_conflict']);
  const second = await read('second');
  expect(refused.json.message).toContain(first.id);
  expect(refused.json.message).toContain(second.id);
  expect(await owners()).toEqual(both(first.id));
  expect(second).toMatchObject({ state: 'failed', error: { code: 'secret_conflict' } });
  expect((await call('DELETE', '/v1/extensions/first')).status).toBe(204);
  expect(await owners()).toEqual([]);
  expect((await call('POST', '/v1/extensions/second/retry')).json.state).toBe('ready');
  expect(await owners()).toEqual(both(second.id));
  // The end of one that owns nothing takes nothing away.
  const third = await create('third', { app: 'web' });
  expect(third.status).toBe(409);
  expect((await call('DELETE', '/v1/extensions/third')).status).toBe(204);
  expect(await owners()).toEqual(both(second.id));
  expect(provider.resources.size).toBe(1);
});

test('people neither replace nor delete what an extension has set', async () => {
  const { call, create, owners, both } = await open();
  const { id } = (await create('my-kv', { app: 'web' })).json;
  expect(await owners()).toEqual(both(id));
  for (const [method, body] of [
    ['PUT', { value: 'mine' }],
    ['DELETE', undefined],
  ] as const) {
    const { status, json } = await call(method, '/v1/apps/web/secrets/KV_KEY', body);
    expect([status, json.error]).toEqual([409, 'secret_conflict']);
    expect(json.details).toEqual({ name: 'KV_KEY', owner: { kind: 'extension', id }, by: { kind: 'operator' } });
  }
  expect((await call('PUT', '/v1/apps/web/secrets/OWN', { value: 'mine' })).status).toBe(200);
  expect((await call('DELETE', '/v1/extensions/my-kv')).status).toBe(204);
  expect(await owners()).toEqual(['OWN operator']);
});

test('a move to an app that has the names already is refused, and both keep what they have', async () => {
  const { provider, call, create, read, owners, both } = await open();
  const first = (await create('first', { app: 'web' })).json;
  const second = (await create('second', { app: 'other' })).json;
  const moved = await call('PATCH', '/v1/extensions/second', { app: 'web' });
  expect([moved.status, moved.json.error]).toEqual([409, 'secret_conflict']);
  expect(moved.json.details).toMatchObject({ owner: { id: first.id }, by: { id: second.id } });
  expect([await owners('web'), await owners('other')]).toEqual([both(first.id), both(second.id)]);
  expect(await read('second')).toMatchObject({ state: 'ready', app: 'other', error: null });
  expect(provider.of('PATCH')).toEqual([]);
  expect((await call('DELETE', '/v1/extensions/first')).status).toBe(204);
  expect((await call('PATCH', '/v1/extensions/second', { app: 'web' })).status).toBe(200);
  expect([await owners('web'), await owners('other')]).toEqual([both(second.id), []]);
});
