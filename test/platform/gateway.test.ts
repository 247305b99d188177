// The gateway of the platform beyond the recorded cases: where credentials go, base paths, lists, changed policies, limits.
import { describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import type { NewAdminConnector } from '../../src/platform/admin.ts';
import type { NewCatalogueEntry } from '../../src/platform/catalogue/catalogue-entry.ts';
import { openSqliteStorage } from '../../src/platform/storage/sqlite-storage.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';
import { openRawUpstream } from '../support/raw-upstream.ts';

async function openWith(entry: Partial<NewCatalogueEntry>, connector: Partial<NewAdminConnector> = {}) {
  const provider = await startEchoProvider();
  const platform = await openTestPlatform({ catalogue: [provider.entry('sample', entry)] });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  await platform.admin.createConnector({
    organization: 'acme',
    provider: 'sample',
    id: 'conn_1',
    api_key: new Secret('key:1'),
    access_policy: { allow_all: true },
    ...connector,
  });
  const get = async (path: string, headers: Record<string, string> = {}) => {
    const authorization = `Bearer ${token.reveal()}`;
    const url = `${platform.url}/v1/gateway/sample/conn_1${path}`;
    const answer = await fetch(url, { headers: { authorization, ...headers } });
    return { status: answer.status, json: answer.status === 200 ? await answer.text() : await answer.json(), answer };
  };
  return { platform, provider, token, get };
}

const target = (request: string | undefined) => request?.split('\r\n')[0]?.split(' ')[1];

describe('a credential', () => {
  test('goes into the header that the provider reads, and the caller cannot add another', async () => {
    const { platform, provider, token } = await openWith({
      injection: { in: 'header', name: 'x-api-key', prefix: '' },
    });
    const lines = [
      'GET /v1/gateway/sample/conn_1/v1/messages HTTP/1.1',
      'Host: x',
      `Authorization: Bearer ${token.reveal()}`,
      'X-Api-Key: mine',
      'X_Api_Key: mine',
      'Connection: x-api-key, close',
      'Cookie: a=mine',
    ];
    const caller = openRaw(Number(new URL(platform.url).port), `${lines.join('\r\n')}\r\n\r\n`);
    expect(await caller.until(/\r\n\r\n/)).toMatch(/^HTTP\/1\.1 200 /);
    expect(provider.requests[0]).toContain('x-api-key: key:1\r\n');
    expect(provider.requests[0]).not.toContain('mine');
    expect(provider.requests[0]?.toLowerCase()).not.toContain('authorization');
  });

  test('goes into the query that the provider reads, in place of the caller’s', async () => {
    const { provider, get } = await openWith({ injection: { in: 'query', name: 'key' } });
    await get('/v1/models?a=1&key=mine&%6Bey=mine&KEY=mine&b=%2F');
    await get('/v1/models');
    expect(provider.requests.map(target)).toEqual(['/v1/models?a=1&b=%2F&key=key%3A1', '/v1/models?key=key%3A1']);
  });

  test.each([
    ['injected', { injection: { in: 'query', name: 'apiKey' } } as const, '/v1?a=1&apiKey=key%3A1'],
    ['stripped', { strip_query: ['apiKey'] }, '/v1?a=1'],
  ])('whose name has a capital is %s in place of the caller’s', async (_name, entry, sent) => {
    const { provider, get } = await openWith(entry);
    await get('/v1?apiKey=mine&apikey=mine&a=1&APIKEY=mine');
    expect(provider.requests.map(target)).toEqual([sent]);
  });

  test('goes into the path that the provider reads, and policies know nothing of it', async () => {
    const { provider, get } = await openWith(
      { injection: { in: 'path', prefix: 'bot' } },
      { access_policy: { allow_all: true, allowed_endpoints: ['/getMe'] } },
    );
    expect((await get('/getMe?x=1')).status).toBe(200);
    expect(target(provider.requests[0])).toBe('/botkey:1/getMe?x=1');
    expect((await get('/botkey:1/getMe')).status).toBe(403);
  });

  test('in the query of the caller is dropped where the provider would read it', async () => {
    const { provider, get } = await openWith({ strip_query: ['key'] });
    await get('/v1/models?key=mine&alt=sse');
    expect(target(provider.requests[0])).toBe('/v1/models?alt=sse');
  });
});

test('a header that the provider insists on is sent unless the caller sends it', async () => {
  const { provider, get } = await openWith({ default_headers: { 'anthropic-version': '2023-06-01' } });
  await get('/a');
  await get('/a', { 'anthropic-version': '2099-01-01' });
  expect(provider.requests[0]).toContain('anthropic-version: 2023-06-01\r\n');
  expect(provider.requests[1]).toContain('anthropic-version: 2099-01-01\r\n');
  expect(provider.requests[1]).not.toContain('2023-06-01');
});

test('the base path of a connector comes before the path, and rules are relative to it', async () => {
  const provider = await startEchoProvider();
  const { get } = await openWith(
    { provider: 'sample', address: { type: 'own' } },
    { base_api_url: `${provider.origin}/api/v1/`, access_policy: { allow_all: true, allowed_endpoints: ['/models'] } },
  );
  expect((await get('/models?x=%2F')).status).toBe(200);
  expect(target(provider.requests[0])).toBe('/api/v1/models?x=%2F');
  expect((await get('/api/v1/models')).json).toMatchObject({ error: 'endpoint_not_allowed' });
});

describe('servers between the caller and the platform', () => {
  const answers = [
    ['events', 'Content-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked', 'no'],
    ['events with a length', 'content-type: Text/Event-Stream\r\ncontent-length: 2', 'no'],
    ['lines without a length', 'Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked', 'no'],
    ['a body that the end of the connection ends', 'Content-Type: text/plain\r\nConnection: close', 'no'],
    ['a body with a length', 'Content-Type: application/json\r\nContent-Length: 2', null],
    ['events of a provider that says it itself', 'content-type: text/event-stream\r\nX-Accel-Buffering: yes', 'yes'],
  ] as const;

  test.each(answers)('are asked not to hold back what is a stream: %s', async (_what, head, said) => {
    const upstream = await openRawUpstream();
    const { get } = await openWith({ address: { type: 'fixed', url: upstream.origin } });
    const asked = get('/stream');
    const { socket } = await upstream.connection(0);
    const body = head.includes('chunked') ? '2\r\n{}\r\n0\r\n\r\n' : '{}';
    socket.end(`HTTP/1.1 200 OK\r\n${head}\r\n\r\n${body}`);
    const { status, json, answer } = await asked;
    expect([status, json, answer.headers.get('x-accel-buffering')]).toEqual([200, '{}', said]);
  });

  test.each(['HEAD', 'GET'])('are asked nothing where there is no body: %s', async (method) => {
    const upstream = await openRawUpstream();
    const { platform, token } = await openWith({ address: { type: 'fixed', url: upstream.origin } });
    const headers = { authorization: `Bearer ${token.reveal()}` };
    const asked = fetch(`${platform.url}/v1/gateway/sample/conn_1/none`, { method, headers });
    const { socket } = await upstream.connection(0);
    socket.end(`HTTP/1.1 ${method === 'HEAD' ? 200 : 204} None\r\nContent-Type: text/event-stream\r\n\r\n`);
    expect((await asked).headers.get('x-accel-buffering')).toBe(null);
  });
});

test('refusals carry our marker and the texts of the gateway', async () => {
  const { platform, get } = await openWith({}, { access_policy: { allow_all: true, blocked_endpoints: ['/admin*'] } });
  const { status, json, answer } = await get('/admin');
  expect([status, json]).toEqual([403, { error: 'endpoint_blocked', message: 'endpoint is blocked by policy' }]);
  expect(answer.headers.get('remora-error')).toBe('endpoint_blocked');
  const byOrganization = await platform.call({ path: '/v1/gateway/sample/conn_1/x' });
  expect(byOrganization.status).toBe(401);
  const byNobody = await platform.call({ path: '/v1/gateway/sample/conn_1/x', token: undefined });
  expect([byNobody.status, byNobody.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
});

test('the list names what the calling sprite may use, and what could be set up', async () => {
  const { platform, token } = await openWith({});
  const api_key = new Secret('k');
  const more = { organization: 'acme', provider: 'sample', api_key } as const;
  await platform.admin.createConnector({ ...more, id: 'conn_closed' });
  await platform.admin.createConnector({ ...more, id: 'conn_prod', access_policy: { name_prefix: 'prod-' } });
  const { json } = await platform.call({ path: '/v1/gateway/list', token });
  expect(json.connections).toEqual([
    {
      id: 'conn_1',
      provider: 'sample',
      display_name: 'sample',
      description: 'a provider of a test',
      gateway_base_url: `${platform.url}/v1/gateway/sample/conn_1`,
      usage_snippet: expect.stringContaining(`" ${platform.url}/v1/gateway/sample/conn_1/`),
    },
  ]);
  const names = json.available.map((one: { provider: string }) => one.provider);
  expect(names).toContain('openai');
  expect(names).not.toContain('sample');
  expect((await platform.call({ path: '/v1/gateway/list' })).json.connections).toHaveLength(3);
});

test('a stream ends when a changed policy does not allow it any more, and the reason is in the log', async () => {
  const upstream = await openRawUpstream();
  const { platform, token } = await openWith({ address: { type: 'fixed', url: upstream.origin } });
  const port = Number(new URL(platform.url).port);
  const head = `GET /v1/gateway/sample/conn_1/sse HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token.reveal()}\r\n\r\n`;
  const caller = openRaw(port, head);
  const connection = await upstream.connection(0);
  await connection.until(/\r\n\r\n/);
  connection.socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\ndata1\n\r\n');
  await caller.until(/data1/);
  const setPolicy = (access_policy: object) =>
    platform.call({ method: 'PUT', path: '/v1/oauth/connections/conn_1', body: { access_policy } });
  await setPolicy({ allow_all: true, blocked_endpoints: ['/other'] });
  connection.socket.write('6\r\ndata2\n\r\n');
  await caller.until(/data2/);
  await setPolicy({ allow_all: true, blocked_endpoints: ['/sse'] });
  const text = await caller.ended;
  expect(text.endsWith('0\r\n\r\n')).toBe(false);
  await connection.closed;
  await eventually(() => platform.log.some(({ ended, reason }) => ended === 'cut' && reason === 'endpoint_blocked'));
});

test('a connector that was deleted beside the platform serves no call, also of a token that comes for the first time', async () => {
  const { platform, provider, token, get } = await openWith({});
  const other = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const path = '/v1/gateway/sample/conn_1/x';
  // The second call finds the connector kept.
  for (const _ of ['first', 'second']) expect((await get('/x')).status).toBe(200);
  await using beside = openSqliteStorage(platform.dir);
  expect(await beside.run('DELETE FROM connectors')).toBe(1);
  expect((await platform.call({ path, token: other })).status).toBe(404);
  expect((await platform.call({ path, token })).status).toBe(404);
  expect(provider.requests).toHaveLength(2);
});

test('the end of the platform ends open calls', async () => {
  const upstream = await openRawUpstream();
  const { platform, token } = await openWith({ address: { type: 'fixed', url: upstream.origin } });
  const port = Number(new URL(platform.url).port);
  const head = `GET /v1/gateway/sample/conn_1/sse HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token.reveal()}\r\n\r\n`;
  const caller = openRaw(port, head);
  const connection = await upstream.connection(0);
  await connection.until(/\r\n\r\n/);
  await platform[Symbol.asyncDispose]();
  await caller.ended;
  await connection.closed;
});
