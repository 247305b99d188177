// What is kept of the calls through the gateway: a line of the log for each, refused ones as well, and sums by day.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createUsageRecorder } from '../../src/platform/gateway/usage/usage-recorder.ts';
import type { UsageCounts, UsageKey } from '../../src/platform/gateway/usage/usage-store.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { openTestPlatform } from '../support/open-platform.ts';
import { silentLog } from '../support/silent-log.ts';

const ANSWER = JSON.stringify({ usage: { prompt_tokens: 11, completion_tokens: 4 } });
const ZERO = { calls: 0, refused: 0, request_bytes: 0, response_bytes: 0, input_tokens: 0, output_tokens: 0 };

async function openGateway() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const echo = await startEchoProvider();
  const platform = await openTestPlatform({
    catalogue: [
      echo.entry('openai', { address: { type: 'fixed', url } }),
      echo.entry('away', { address: { type: 'fixed', url: 'http://127.0.0.1:1' } }),
    ],
  });
  const { admin } = platform;
  const access_policy = { name_prefix: 'dev-', blocked_endpoints: ['/admin*'] };
  for (const [id, provider] of [
    ['conn_1', 'openai'],
    ['conn_2', 'away'],
  ] as const) {
    const api_key = new Secret('sk-of-the-connector');
    await admin.createConnector({ organization: 'acme', provider, id, api_key, access_policy });
  }
  const tokenOf = async (name: string) => {
    await admin.createSprite({ organization: 'acme', name });
    return await admin.createToken({ organization: 'acme', sprite: name });
  };
  const token = await tokenOf('dev-1');
  const other = await tokenOf('dev-2');
  const call = (path: string, as = token, body?: object) =>
    platform.call({ path: `/v1/gateway/${path}`, token: as, ...(body === undefined ? {} : { method: 'POST', body }) });
  const lines = () => platform.log.filter(({ message }) => String(message).startsWith('gateway call'));
  return { platform, token, other, call, lines };
}

test('each call has a line with who, what and how it ended, also a call that was refused', async () => {
  const { platform, call, lines } = await openGateway();
  await call('openai/conn_1/v1/chat?secret=query', undefined, { a: 1 });
  await call('openai/conn_1/admin/x');
  await call('openai/conn_none/x');
  await call('openai/conn_1/a/%2e%2e%2fb/%252e%252e/x');
  await call('away/conn_2/x');
  await call('openai/conn_1/x', platform.token);
  const who = { organization: 'acme', sprite: 'dev-1', token: expect.stringMatching(/^tok_/), ms: expect.any(Number) };
  const of = (connector: string, path: string) => ({ ...who, connector, path });
  const found = await eventually(() => (lines().length === 6 ? lines() : undefined));
  expect(found).toMatchObject([
    {
      ...{ ...of('conn_1', '/v1/chat'), message: 'gateway call', provider: 'openai', method: 'POST', status: 200 },
      ...{ ended: 'complete', request_bytes: 7, response_bytes: ANSWER.length, input_tokens: 11, output_tokens: 4 },
    },
    {
      ...{ ...of('conn_1', '/admin/x'), message: 'gateway call refused' },
      ...{ code: 'endpoint_blocked', status: 403, rule: '/admin*' },
    },
    { ...of('conn_none', '/x'), message: 'gateway call refused', code: 'unknown_connector', status: 404 },
    { ...who, message: 'gateway call refused', code: 'invalid_target', status: 400 },
    { ...of('conn_2', '/x'), message: 'gateway call', code: 'upstream_failed', status: 502 },
    { message: 'gateway call refused', organization: 'acme', connector: 'conn_1', code: 'unauthorized', status: 401 },
  ]);
  expect(JSON.stringify(found)).not.toMatch(/secret=query|sk-of-the-connector/);
});

test('calls are summed by day and connector, for the organization and for a sprite of it', async () => {
  const { platform, token, other, call } = await openGateway();
  const paths = ['openai/conn_1/x', 'openai/conn_1/x', 'openai/conn_1/admin', 'openai/conn_none/x', 'away/conn_2/x'];
  for (const path of paths) await call(path);
  await call('openai/conn_1/x', other);
  const day = new Date().toISOString().slice(0, 10);
  const read = async (query: string, as: Secret = platform.token) =>
    (await platform.call({ path: `/v1/gateway/usage${query}`, token: as })).json;
  const of = (calls: number, refused: number) => ({
    ...{ ...ZERO, day, connector_id: 'conn_1', provider: 'openai', calls, refused },
    ...{ response_bytes: calls * ANSWER.length, input_tokens: calls * 11, output_tokens: calls * 4 },
  });
  const away = { ...ZERO, day, connector_id: 'conn_2', provider: 'away', calls: 1 };
  const all = await eventually(async () => {
    const { usage } = await read('');
    return usage.length === 2 && usage[0].calls === 3 ? usage : undefined;
  });
  expect(all).toEqual([of(3, 1), away]);
  expect(await read('?sprite=dev-2')).toEqual({ usage: [of(1, 0)] });
  expect(await read('', other)).toEqual({ usage: [of(1, 0)] });
  expect(await read('?connector_id=conn_2')).toEqual({ usage: [away] });
  expect(await read(`?until=2020-01-01`)).toEqual({ usage: [] });
  expect((await read('?sprite=dev-2', token)).error).toBe('forbidden');
  expect((await read('?since=yesterday')).details.fields[0].field).toBe('query.since');
  await platform.admin.createOrganization('globex');
  expect(await read('', await platform.admin.createToken({ organization: 'globex' }))).toEqual({ usage: [] });
});

test('what was not written yet is written at the end', async () => {
  const { platform, call } = await openGateway();
  await call('openai/conn_1/x');
  await platform[Symbol.asyncDispose]();
  const db = new Database(join(platform.dir, 'platform.db'));
  onTestFinished(() => void db.close());
  expect(db.prepare('SELECT connector_id, sprite, calls FROM gateway_usage').all()).toEqual([
    { connector_id: 'conn_1', sprite: 'dev-1', calls: 1 },
  ]);
});

describe('a database that cannot be written to', () => {
  test('keeps sums waiting, and loses none', async () => {
    const written: (UsageKey & UsageCounts)[] = [];
    const errors: object[] = [];
    let isBroken = true;
    const ledger = createUsageRecorder({
      usage: {
        async add(entries) {
          if (isBroken) throw new Error('the disk is full');
          written.push(...entries);
        },
      },
      clock: { wall_ms: () => 1_700_000_000_000, mono_ms: () => 0 },
      log: { ...silentLog, error: (fields) => void errors.push(fields) },
    });
    const organization = {
      id: 'o',
      slug: 'acme',
      display_name: null,
      running_limit: null,
      warm_limit: null,
      creation_limit: null,
    };
    const token = { id: 't', access: 'full', user_id: null, machine_id: null, expires_at: null } as const;
    const caller = { type: 'organization', organization, token } as const;
    const add = () =>
      ledger.add({ caller, method: 'GET', connector_id: 'c', isKnown: true, isSent: true }, undefined, 1);
    add();
    await ledger.flush();
    add();
    await ledger.flush();
    expect(errors).toHaveLength(2);
    isBroken = false;
    add();
    await ledger[Symbol.asyncDispose]();
    expect(written).toMatchObject([{ connector_id: 'c', day: '2023-11-14', calls: 3, refused: 0 }]);
  });
});
