// Whatever is sent to whichever row: an answer of its own kind, and never a 5xx.
import { Client } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import { Secret } from '../../src/core/secret.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { openRaw } from '../support/raw-http.ts';

/** Values that parsers trip over; a deterministic walk, so that a failure can be repeated. */
const oddities: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  2 ** 53,
  '',
  ' ',
  '\u0000',
  '\u{1F600}',
  '\uD800',
  '../..',
  '%00',
  "' OR 1=1 --",
  'x'.repeat(5_000),
  [],
  [null],
  [[[[]]]],
  {},
  { toString: 1 },
  { __proto__: null, constructor: { prototype: 1 } },
];
const fields = [
  'name',
  'labels',
  'url_settings',
  'provider',
  'api_key',
  'base_api_url',
  'access_policy',
  'notices',
  'value',
  'signal',
  'timeout',
  'generation',
  'incarnation',
  'holds',
  'code',
  'state',
  'redirect_uri',
  'labels',
];
const queries = [
  'max_results',
  'prefix',
  'continuation_token',
  'provider',
  'state',
  'timeout',
  'instance_id',
  'scopes',
  'add_scopes',
  'redirect_uri',
  'code',
  'error',
  'nonsense',
];
const words = ['x', '%00', '%2e%2e', '%', 'é', '__proto__', '1'.repeat(300), '%F0%9F%98%80', "'", '*'];

function* toBodies(): Generator<string> {
  yield* ['', '{', '[1', 'null', '"x"', '7', '{"a":1}{"b":2}', '\u0000', '['.repeat(5_000), '{"name":'.repeat(2_000)];
  for (const value of oddities) {
    yield JSON.stringify(value) ?? '';
    for (const field of fields) yield JSON.stringify({ [field]: value, provider: 'openai', api_key: 'sk-k' });
  }
}

test('no body, query or path makes a row fail', async () => {
  const platform = await openTestPlatform();
  await platform.admin.createSprite({ organization: 'acme', name: 'x' });
  const api_key = new Secret('sk-k');
  await platform.admin.createConnector({ organization: 'acme', provider: 'openai', api_key, id: 'x' });
  const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'x' });
  const bodies = [...toBodies()];
  const failures: string[] = [];
  // Thousands of calls: fetch would take half of their time.
  const client = new Client(platform.url);
  onTestFinished(() => client.destroy());
  let calls = 0;
  let turn = 0;
  const next = <T>(list: readonly T[]): T | undefined => list[turn++ % list.length];

  async function send(method: string, path: string, body: string | undefined, token: Secret): Promise<void> {
    calls += 1;
    const headers = { authorization: `Bearer ${token.reveal()}`, 'content-type': 'application/json' };
    const { pathname, search } = new URL(platform.url + path);
    const answer = await client.request({ path: pathname + search, method, headers, body: body ?? null });
    const text = await answer.body.text();
    if (answer.statusCode >= 500)
      failures.push(`${answer.statusCode} ${method} ${path} ${body?.slice(0, 100)}: ${text}`);
  }

  for (const row of Object.values(platformOperations)) {
    const methods = row.method === '*' ? ['GET', 'POST', 'DELETE'] : [row.method];
    const token = row.access === 'agent' ? sprite : platform.token;
    for (const method of methods) {
      // What is refused before its body is read is sent a few.
      const some = row.access === 'operator' ? bodies.slice(0, 10) : bodies;
      const take = 'body' in row ? some : [undefined];
      for (const body of take) {
        const path = row.path.replaceAll(/\{[\w.]+\}/g, 'x');
        await send(method, path, method === 'GET' ? undefined : body, token);
      }
      for (const word of words) {
        const path = row.path.replaceAll(/\{[\w.]+\}/g, word);
        const query = `${next(queries)}=${next(words)}&${next(queries)}=${next(words)}&timeout=1`;
        await send(
          method,
          path.includes('/wait') ? `${path}?${query}&state=stopped` : `${path}?${query}`,
          undefined,
          token,
        );
      }
    }
  }
  expect(failures).toEqual([]);
  expect(calls).toBeGreaterThan(500);
  expect((await platform.call({ path: '/v1/sprites' })).status).toBe(200);
}, 240_000);

test('bytes that are no HTTP get an answer or an end, and the platform serves on', async () => {
  const platform = await openTestPlatform();
  const port = Number(new URL(platform.url).port);
  const streams = [
    '\u0000\u0001',
    'GET\r\n\r\n',
    'GET / HTTP/9.9\r\n\r\n',
    'POST /v1/sprites HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n',
  ];
  for (const bytes of streams) {
    const text = await openRaw(port, bytes).ended;
    expect(text === '' || text.startsWith('HTTP/1.1 4'), JSON.stringify(text)).toBe(true);
  }
  expect((await platform.call({ path: '/v1/health', token: undefined })).json).toEqual({ status: 'ok' });
});
