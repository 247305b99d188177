// Two platform processes on one PostgreSQL database: what one does, the other knows, and what may happen once happens once.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { Secret } from '../../src/core/secret.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { eventually } from '../support/eventually.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { callPlatform } from '../support/open-platform.ts';
import { openPlatformPair, type PairedPlatform } from '../support/platform-pair.ts';
import { isWithoutPostgres, openPostgresServer, type PostgresServer } from '../support/postgres-server.ts';

const fixed = { organization: 'acme', sprite: 'dev-1' } as const;

/** An interface whose answers begin and do not end. */
async function startEndlessProvider(): Promise<string> {
  const server = createServer((_, response) => {
    const timer = setInterval(() => response.write('tick\n'), 50);
    response.once('close', () => clearInterval(timer));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function toStatuses(answers: readonly { readonly status: number }[]): number[] {
  return answers.map(({ status }) => status).sort((a, b) => a - b);
}

describe.skipIf(isWithoutPostgres())('two platforms on one database', () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await openPostgresServer();
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
  });

  test('sprites that are created at both count together', async () => {
    const limit = ['--creation-limit', '4'];
    const { platforms } = await openPlatformPair(await server.createDatabase(), [], [limit, limit]);
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        platforms[index % 2 === 0 ? 0 : 1].call({ method: 'POST', path: '/v1/sprites', body: { name: `s-${index}` } }),
      ),
    );
    expect(toStatuses(made)).toEqual([201, 201, 201, 201, 429, 429, 429, 429, 429, 429]);
    expect(made.find(({ status }) => status === 429)?.json).toMatchObject({
      error: 'sprite_creation_rate_limited',
      limit: 4,
      window_seconds: 60,
    });
  });

  /** Opens a pair with a connector by OAuth whose token is about to end, and the token of a sprite that may use it. */
  async function openConnected() {
    const provider = await startOAuthProvider();
    const pair = await openPlatformPair(await server.createDatabase(), [provider.entry('hub')]);
    const [one] = pair.platforms;
    provider.state.expires_in = 0.001;
    const { json } = await one.call({ path: '/v1/oauth/hub/authorize' });
    const body = { code: provider.agree(json.authorize_url), state: json.state, access_policy: { allow_all: true } };
    const made = await one.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
    provider.state.expires_in = 3_600;
    await one.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
    await using offline = await pair.openAdmin();
    const token = await offline.admin.createToken(fixed);
    const path = `/v1/gateway/hub/${made.json.connection.id}/user`;
    const use = (platform: PairedPlatform) => callPlatform(platform.url, { path, token });
    const refreshes = () => provider.tokenCalls.filter(({ grant_type }) => grant_type === 'refresh_token').length;
    return { ...pair, provider, use, refreshes };
  }

  test('renew a connector once for all the calls to both, at a provider that takes a token once', async () => {
    const { platforms, provider, use, refreshes } = await openConnected();
    provider.state.beforeRefresh = () => sleep(300);
    const answers = await Promise.all([...platforms, ...platforms, ...platforms, ...platforms].map(use));
    expect(toStatuses(answers)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(refreshes()).toBe(1);
    expect(new Set(provider.used.slice(-8)).size).toBe(1);
  });

  test('go on with a renewal after a kill -9 of the one that had begun it', async () => {
    const { platforms, provider, use, refreshes } = await openConnected();
    const [one, other] = platforms;
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.state.beforeRefresh = () => (refreshes() === 1 ? promise : Promise.resolve());
    const lost = use(one).catch(() => 'lost');
    await eventually(() => refreshes() === 1);
    const waiting = use(other);
    await sleep(300);
    expect(refreshes()).toBe(1);
    one.child.process.kill('SIGKILL');
    expect(await lost).toBe('lost');
    expect((await waiting).status).toBe(200);
    expect(refreshes()).toBe(2);
    resolve();
  });

  test('take the state of an authorization once', async () => {
    const { platforms, provider } = await openConnected();
    const { json } = await platforms[0].call({ path: '/v1/oauth/hub/authorize' });
    const body = { code: provider.agree(json.authorize_url), state: json.state };
    const answers = await Promise.all(
      platforms.map((platform) => platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body })),
    );
    expect(toStatuses(answers)).toEqual([201, 400]);
  });

  test('serve the tokens of each other, and neither serves one that was revoked', async () => {
    const origin = await startEndlessProvider();
    const provider = await startEchoProvider();
    const entry = provider.entry('endless', { address: { type: 'fixed', url: origin } });
    const pair = await openPlatformPair(await server.createDatabase(), [entry]);
    const [one, other] = pair.platforms;
    expect(one.token.reveal()).not.toBe(other.token.reveal());
    const list = (platform: PairedPlatform, token: Secret) =>
      callPlatform(platform.url, { path: '/v1/sprites', token });
    expect((await list(one, other.token)).status).toBe(200);
    expect((await list(other, one.token)).status).toBe(200);

    await one.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
    const connector = { provider: 'endless', api_key: 'k', access_policy: { allow_all: true } };
    const made = await one.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body: connector });
    const path = `/v1/gateway/endless/${made.json.connection.id}/x`;
    await using offline = await pair.openAdmin();
    const revoked = await offline.admin.createToken({ ...fixed, name: 'revoked' });
    const deleted = await offline.admin.createToken({ ...fixed, name: 'deleted' });
    const stream = async (token: Secret) => {
      const answer = await fetch(other.url + path, { headers: { authorization: `Bearer ${token.reveal()}` } });
      const reader = answer.body?.getReader();
      if (reader === undefined || answer.status !== 200) throw new Error(`answered ${answer.status}`);
      await reader.read();
      const ended = (async () => {
        while (!(await reader.read()).done);
      })().then(
        () => 'ended',
        () => 'cut',
      );
      return { ended };
    };
    const streams = [await stream(revoked), await stream(deleted)] as const;
    const id = (await offline.admin.listTokens('acme')).find(({ name }) => name === 'revoked')?.id ?? '';
    const isGood = async (platform: PairedPlatform) =>
      (await callPlatform(platform.url, { path: '/v1/gateway/list', token: revoked })).status === 200;
    // Who calls is known to both by now.
    for (const platform of pair.platforms)
      expect([await isGood(platform), await isGood(platform)]).toEqual([true, true]);
    await offline.admin.revokeToken('acme', id);
    const begun_ms = performance.now();
    for (const platform of pair.platforms) {
      expect((await callPlatform(platform.url, { path: '/v1/gateway/list', token: revoked })).status).toBe(401);
    }
    expect(await Promise.race([streams[0].ended, sleep(20_000, 'open')])).toBe('cut');
    expect(performance.now() - begun_ms).toBeLessThan(20_000);

    expect((await one.call({ method: 'DELETE', path: '/v1/sprites/dev-1' })).status).toBe(204);
    expect((await callPlatform(other.url, { path: '/v1/gateway/list', token: deleted })).status).toBe(401);
    expect(await Promise.race([streams[1].ended, sleep(20_000, 'open')])).toBe('cut');
  });

  test('list every sprite once, page by page from either, while others are made', async () => {
    const pair = await openPlatformPair(await server.createDatabase());
    const [one, other] = pair.platforms;
    const names = Array.from({ length: 60 }, (_, index) => `s-${String.fromCharCode(97 + (index % 26))}${index}-1`);
    for (const [index, name] of names.entries()) {
      const answer = await pair.platforms[index % 2 === 0 ? 0 : 1].call({
        method: 'POST',
        path: '/v1/sprites',
        body: { name },
      });
      expect(answer.status).toBe(201);
    }
    const taken = await Promise.all(
      pair.platforms.map((each) => each.call({ method: 'POST', path: '/v1/sprites', body: { name: 'taken' } })),
    );
    expect(toStatuses(taken)).toEqual([201, 409]);
    const seen: string[] = [];
    let query = 'max_results=7&prefix=s-';
    for (let turn = 0; query !== ''; turn += 1) {
      const [here, there] = turn % 2 === 0 ? [one, other] : [other, one];
      const { json } = await here.call({ path: `/v1/sprites?${query}` });
      seen.push(...json.sprites.map((sprite: { name: string }) => sprite.name));
      await there.call({ method: 'POST', path: '/v1/sprites', body: { name: `s-a-${turn}` } });
      const token = json.next_continuation_token;
      query = token === undefined ? '' : `max_results=7&prefix=s-&continuation_token=${token}`;
    }
    expect(seen).toEqual([...seen].sort());
    expect(seen.filter((name) => names.includes(name))).toEqual([...names].sort());
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('answer 503 while the server is gone, keep what is open, and serve again when it is back', async () => {
    const own = await openPostgresServer();
    onTestFinished(() => own[Symbol.asyncDispose]());
    const origin = await startEndlessProvider();
    const provider = await startEchoProvider();
    const entry = provider.entry('endless', { address: { type: 'fixed', url: origin } });
    const pair = await openPlatformPair(await own.createDatabase(), [entry]);
    const [one, other] = pair.platforms;
    await one.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
    const connector = { provider: 'endless', api_key: 'k', access_policy: { allow_all: true } };
    const made = await one.call({ method: 'POST', path: '/v1/oauth/connections/api_key', body: connector });
    const offline = await pair.openAdmin();
    const token = await offline.admin.createToken(fixed);
    await offline[Symbol.asyncDispose]();
    const path = `/v1/gateway/endless/${made.json.connection.id}/x`;
    const open = await fetch(one.url + path, { headers: { authorization: `Bearer ${token.reveal()}` } });
    const reader = open.body?.getReader();

    for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
      const calls = Array.from({ length: 40 }, (_, index) =>
        sleep(index * 10).then(() => pair.platforms[index % 2 === 0 ? 0 : 1].call({ path: '/v1/sprites' })),
      );
      await sleep(100);
      await own.stop(signal);
      for (const { status } of await Promise.all(calls)) expect([200, 503]).toContain(status);
      for (const platform of pair.platforms) {
        const answer = await platform.call({ path: '/v1/sprites' });
        expect([answer.status, answer.json.error, answer.headers.get('retry-after')]).toEqual([503, 'not_ready', '5']);
        const write = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-9' } });
        expect(write.status).toBe(503);
        expect((await platform.call({ path: '/v1/health', token: undefined })).status).toBe(200);
      }
      // Longer than a second look.
      await sleep(2_500);
      expect((await reader?.read())?.done).toBe(false);
      await own.start();
      for (const platform of pair.platforms) {
        await eventually(async () => (await platform.call({ path: '/v1/sprites' })).status === 200);
        const body = { name: `after-${signal.toLowerCase()}-${platform === one ? 1 : 2}` };
        const write = { method: 'POST', path: '/v1/sprites', body };
        await eventually(async () => (await platform.call(write)).status === 201);
      }
    }
    expect([one, other].map(({ child }) => child.process.exitCode)).toEqual([null, null]);
  });

  test('survive that their connections are ended under calls, again and again', async () => {
    const pair = await openPlatformPair(await server.createDatabase());
    const [one] = pair.platforms;
    let isOver = false;
    const calling = Array.from({ length: 6 }, async (_, index) => {
      const statuses = new Set<number>();
      for (let turn = 0; !isOver; turn += 1) {
        const write = { method: 'POST', path: '/v1/sprites', body: { name: `s-${index}-${turn}` } };
        statuses.add((await one.call(turn % 2 === 0 ? write : { path: '/v1/sprites?max_results=1' })).status);
      }
      return [...statuses];
    });
    for (let turn = 0; turn < 40; turn += 1) {
      await server.ask(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'remora platform'",
      );
      await sleep(20);
    }
    isOver = true;
    for (const status of (await Promise.all(calling)).flat()) expect([200, 201, 503]).toContain(status);
    expect(one.child.process.exitCode).toBeNull();
    await eventually(async () => (await one.call({ path: '/v1/sprites' })).status === 200);
  });
});
