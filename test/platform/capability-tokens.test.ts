// A capability token that a caller sends to the platform itself, past its agent: no provider sees it, and no log does.
import { expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPlatform } from '../support/open-platform.ts';

const SECRET = 'Zm9vYmFy';
const TOKEN = `remora_cap_${SECRET}`;
const ENCODED = `remora%5Fcap%5F${SECRET}`;
const OWN = '/v1/gateway/sample/conn_1';

async function openGateway() {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({ catalogue: [provider.entry('sample')] });
  const organization = 'acme';
  const access_policy = { allow_all: true };
  const connector = { organization, provider: 'sample', id: 'conn_1', api_key: new Secret('k'), access_policy };
  await platform.admin.createConnector(connector);
  await platform.admin.createSprite({ organization, name: 'dev-1' });
  const token = await platform.admin.createToken({ organization, sprite: 'dev-1' });
  return { provider, platform, token };
}

test.each<[string, string, Readonly<Record<string, string>>, number]>([
  ['the path of a call', `${OWN}/x/${TOKEN}`, {}, 400],
  ['the path of a call, encoded', `${OWN}/x/${ENCODED}`, {}, 400],
  ['the id of a connector', `/v1/gateway/sample/${TOKEN}/x`, {}, 400],
  ['the query of a call', `${OWN}/x?key=${TOKEN}&kept=1`, {}, 200],
  ['the query of a call, encoded', `${OWN}/x?kept=1&a=${ENCODED}`, {}, 200],
  ['Referer', `${OWN}/x?kept=1`, { referer: `http://a/?key=${TOKEN}` }, 200],
  ['a header', `${OWN}/x?kept=1`, { 'x-api-key': TOKEN, 'x-other': ENCODED }, 200],
  ['the path of another operation', `/v1/sprites/${TOKEN}`, {}, 403],
  ['the query of another operation', `/v1/gateway/list?key=${TOKEN}`, { referer: `http://a/${TOKEN}` }, 200],
  ['a path that nothing is served at', `/${TOKEN}/${ENCODED}`, {}, 404],
])('that stands in %s', async (_where, path, headers, status) => {
  const { provider, platform, token } = await openGateway();
  expect((await platform.call({ path, token, headers })).status).toBe(status);
  const isForwarded = path.startsWith(OWN) && status === 200;
  expect(provider.requests).toHaveLength(isForwarded ? 1 : 0);
  if (isForwarded) expect(provider.requests[0]).toMatch(/^GET \/x\?kept=1 /);
  expect(provider.requests.join('')).not.toContain(SECRET);
  await expectNoTrace(platform, token);
});

test('that is sent as the token of the call', async () => {
  const { provider, platform, token } = await openGateway();
  for (const path of [`${OWN}/x`, '/v1/sprites']) {
    expect((await platform.call({ path, token: new Secret(TOKEN) })).status).toBe(401);
  }
  expect(provider.requests).toEqual([]);
  await expectNoTrace(platform, token);
});

/** A call is logged after its answer: the line of one that follows says that the lines before it are written. */
async function expectNoTrace(
  { call, log }: Awaited<ReturnType<typeof openGateway>>['platform'],
  token: Secret,
): Promise<void> {
  await call({ path: '/v1/oauth/connections', token });
  await eventually(() => log.some(({ path }) => path === '/v1/oauth/connections'));
  const text = JSON.stringify(log, (_key, value: unknown) =>
    value instanceof Error ? { ...value, text: value.stack } : value,
  );
  expect(text).not.toContain(SECRET);
}
