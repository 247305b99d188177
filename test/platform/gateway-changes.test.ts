// The stream by which the platform tells agents that what they may call has changed.
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { callPlatform, openTestPlatform, type PlatformCall, type TestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

async function openAll(platform: TestPlatform) {
  const { admin } = platform;
  for (const name of ['dev-1', 'dev-2']) await admin.createSprite({ organization: 'acme', name });
  const connector = { organization: 'acme', provider: 'openai', id: 'conn_1', api_key: new Secret('sk-key') };
  await admin.createConnector(connector);
  const token = await admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const watch = (query = '', bearer = token) =>
    openRaw(
      Number(new URL(platform.url).port),
      `GET /v1/gateway/changes${query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${bearer.reveal()}\r\n\r\n`,
    );
  const change = async (call: PlatformCall) => expect((await platform.call(call)).status).toBeLessThan(300);
  return { admin, connector, token, watch, change };
}

const versions = (text: string) =>
  [...text.matchAll(/\{"type":"(\w+)","version":"(\w+)"\}\n/g)].map(([, type, version]) => ({ type, version }));
const policy = (access_policy: unknown) => ({
  method: 'PUT',
  path: '/v1/oauth/connections/conn_1',
  body: { access_policy },
});

test('it begins with the present version, which is the same for the same state, also after a restart', async () => {
  const platform = await openTestPlatform();
  const { watch, token } = await openAll(platform);
  const [first] = versions(await watch().until(/hello.*\n/));
  expect(versions(await watch().until(/hello.*\n/))).toEqual([first]);
  await platform[Symbol.asyncDispose]();
  const again = await openTestPlatform({ dir: platform.dir });
  const port = Number(new URL(again.url).port);
  const after = openRaw(
    port,
    `GET /v1/gateway/changes HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token.reveal()}\r\n\r\n`,
  );
  expect(versions(await after.until(/hello.*\n/))).toEqual([first]);
});

test('it tells of a change of a policy and of the own labels, and not of those of another sprite', async () => {
  const platform = await openTestPlatform();
  const { watch, change } = await openAll(platform);
  const reader = watch();
  await reader.until(/hello/);
  await change(policy({ allow_all: true }));
  await reader.until(/(?:"changed"[^\n]*\n.*?){1}/s);
  await change({ method: 'PUT', path: '/v1/sprites/dev-2', body: { url_settings: {}, labels: ['a'] } });
  await change({ method: 'PUT', path: '/v1/sprites/dev-1', body: { url_settings: {}, labels: ['a'] } });
  await reader.until(/(?:"changed"[^\n]*\n.*?){2}/s);
  await change(policy({ allow_all: false }));
  await reader.until(/(?:"changed"[^\n]*\n.*?){3}/s);
  const told = versions(reader.text);
  expect(told.map(({ type }) => type)).toEqual(['hello', 'changed', 'changed', 'changed']);
  expect(new Set(told.map(({ version }) => version)).size).toBe(4);
});

test('it says at once that another version than `since` is the present one', async () => {
  const platform = await openTestPlatform();
  const { watch } = await openAll(platform);
  const reader = watch('?since=old');
  const told = versions(await reader.until(/changed.*\n/));
  expect(told.map(({ type }) => type)).toEqual(['hello', 'changed']);
  const version = told[0]?.version ?? '';
  const same = watch(`?since=${version}`);
  await same.until(/hello.*\n/);
  expect(versions(same.text)).toEqual([{ type: 'hello', version }]);
});

test('it ends when the sprite is deleted, when the platform stops, and for the first of too many readers', async () => {
  const platform = await openTestPlatform();
  const { watch, change } = await openAll(platform);
  const readers = [];
  for (let index = 0; index < 5; index += 1) {
    const reader = watch();
    await reader.until(/hello/);
    readers.push(reader);
  }
  expect(await readers[0]?.until(/0\r\n\r\n$/)).toContain('hello');
  await change({ method: 'DELETE', path: '/v1/sprites/dev-1' });
  for (const reader of readers.slice(1)) await reader.until(/0\r\n\r\n$/);
  const other = watch('', await platform.admin.createToken({ organization: 'acme', sprite: 'dev-2' }));
  await other.until(/hello/);
  await platform[Symbol.asyncDispose]();
  // One that was waited for until the deadline would be cut.
  expect(await other.ended).toMatch(/0\r\n\r\n$/);
});

test('it is for sprites only', async () => {
  const platform = await openTestPlatform();
  await openAll(platform);
  const call = { path: '/v1/gateway/changes' };
  expect(await platform.call(call)).toMatchObject({ status: 403, json: { error: 'forbidden' } });
  expect(await callPlatform(platform.url, call)).toMatchObject({ status: 401 });
});
