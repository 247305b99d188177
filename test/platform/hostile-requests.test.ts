// Requests that are made to cost the platform as much as can be, over real sockets: refused, in few words, and nothing reaches a
// provider.
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { fill } from '../support/hostile-text.ts';
import { openTestPlatform } from '../support/open-platform.ts';

const CONNECTION = '/v1/oauth/connections/conn_1';
const ANSWER_MAX = 24 * 1024;

async function open() {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({ catalogue: [provider.entry('sample')] });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const connector = { organization: 'acme', provider: 'sample', id: 'conn_1', access_policy: { allow_all: true } };
  await platform.admin.createConnector({ ...connector, api_key: new Secret('a-key-of-a-test') });
  const put = async (body: string) => {
    const headers = { authorization: `Bearer ${platform.token.reveal()}`, 'content-type': 'application/json' };
    const answer = await fetch(platform.url + CONNECTION, { method: 'PUT', headers, body });
    return { status: answer.status, text: await answer.text() };
  };
  return { provider, platform, sprite, put };
}

const MB = 1024 * 1024;
const inPolicy = (unit: string, tail: string) =>
  fill(unit, MB, '{"access_policy":{"allowed_endpoints":[', `${tail}]}}`);

test('a body of 1 MB of any kind is refused in few words', async () => {
  const { put, platform } = await open();
  const fields = Array.from({ length: 60_000 }, (_, at) => `"k${at}":1`).join(',');
  const bodies = [
    inPolicy('1,', '1'),
    inPolicy('"x",', '"x"'),
    inPolicy('[', ''),
    inPolicy('{"a":', '1'),
    inPolicy('{},', '{}'),
    `{${fields}}`,
    `{"access_policy":{"allow_all":true,"${'k'.repeat(1_000_000)}":1}}`,
    `{"access_policy":{"name_prefix":"${'\\u0000'.repeat(170_000)}"}}`,
    fill('[', MB),
  ];
  for (const body of bodies) {
    const { status, text } = await put(body);
    expect({ status, isShort: text.length < ANSWER_MAX }, body.slice(0, 60)).toEqual({ status: 400, isShort: true });
  }
  expect((await platform.call({ path: CONNECTION })).json.connection.access_policy).toEqual({ allow_all: true });
});

test('a rule that can cover no path is refused when a policy is made and when it is replaced', async () => {
  const { put, platform } = await open();
  const replaced = await put(JSON.stringify({ access_policy: { blocked_endpoints: ['/ok', 'v1/admin'] } }));
  expect(replaced.status).toBe(400);
  expect(JSON.parse(replaced.text).details.fields).toEqual([
    { field: 'body.access_policy.blocked_endpoints.1', message: expect.stringContaining('a rule begins with "/"') },
  ]);
  const body = { provider: 'sample', api_key: 'another-key', access_policy: { allowed_endpoints: ['/v1/*/models'] } };
  const made = await platform.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body });
  expect({ status: made.status, message: made.json?.message }).toEqual({
    status: 400,
    message: expect.stringContaining('a "*" may stand at the end only'),
  });
});

test.each([
  ['slashes after every reading', '/a;b%3b%5c%2523%253f%252f', '/', 'x%20y%253b/'],
  ['spaces', '/a', '%20', 'x'],
  ['parameters', '/', ';/', 'x'],
  ['dots', '/x', './', 'x.'],
])('a target of 8 KB is judged, and refused by the policy or before: %s', async (_name, head, unit, tail) => {
  const { platform, provider, sprite } = await open();
  const policy = { allow_all: true, allowed_endpoints: ['/v1/models'], blocked_endpoints: ['/admin*'] };
  await platform.call({ method: 'PUT', path: CONNECTION, body: { access_policy: policy } });
  const path = fill(unit, 7_900, head, tail);
  const answer = await platform.call({ path: `/v1/gateway/sample/conn_1${path}`, token: sprite });
  expect([400, 403]).toContain(answer.status);
  const asked = { provider: 'sample', connector_id: 'conn_1', method: 'GET', path };
  const told = await platform.call({ method: 'POST', path: '/v1/gateway/explain', token: sprite, body: asked });
  expect(told.status).toBe(200);
  expect(told.json.decision).not.toBe('allow');
  expect(provider.requests).toEqual([]);
});
