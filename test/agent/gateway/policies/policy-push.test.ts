// How a change on the platform reaches the agent without being asked for, and what it does to calls that are open.
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/core/clock.ts';
import { Secret } from '../../../../src/core/secret.ts';
import { ask } from '../../../support/ask.ts';
import { startEchoProvider } from '../../../support/echo-provider.ts';
import { openGatewayAgent } from '../../../support/gateway-agent.ts';
import { openTestPlatform } from '../../../support/open-platform.ts';
import { openRaw } from '../../../support/raw-http.ts';
import { soon } from '../../../support/soon.ts';
import { openStandInPlatform, type StandInPlatform } from '../../../support/stand-in-platform.ts';

const open = { id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } };
const closed = { id: 'conn_1', provider: 'openai', access_policy: { allow_all: true, blocked_endpoints: ['*'] } };
const target = '/v1/gateway/openai/conn_1/v1/x';
const events = (response: { write(text: string): void }) => response.write('data: 1\n\n');

/** The agent has read the first line of the stream, which makes it fetch the policies once more. */
const followed = (platform: StandInPlatform) =>
  soon(() => expect([platform.watchers, platform.fetches > 1]).toEqual([1, true]));

/** Half a minute before the agent would ask by the clock. */
const LONG_MS = 30_000;

describe('a platform that tells of changes', () => {
  it('is followed, and a change ends a stream that it no longer allows at once', async () => {
    const platform = await openStandInPlatform({
      connectors: [open],
      version: 'a',
      onGateway: (_request, response) => events(response),
    });
    const agent = await openGatewayAgent(platform.url);
    const caller = openRaw(agent.path, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await caller.until(/data: 1/);
    await followed(platform);
    platform.state.connectors = [closed];
    const started_ms = performance.now();
    platform.change('b');
    expect(await caller.ended).not.toMatch(/0\r\n\r\n$/);
    expect(performance.now() - started_ms).toBeLessThan(LONG_MS);
    expect((await ask(agent.path, { target })).status).toBe(403);
  });

  it('is asked once for many changes at a time, and once more for what came meanwhile', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    expect((await ask(agent.path, { target })).status).toBe(200);
    const before = platform.fetches;
    for (let index = 0; index < 200; index += 1) platform.change(`v${index}`);
    platform.state.connectors = [closed];
    platform.change('last');
    await soon(async () => expect((await ask(agent.path, { target })).status).toBe(403));
    expect(platform.fetches - before).toBeLessThan(20);
  });

  it('is followed again after it was away, and what changed meanwhile is fetched', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    expect((await ask(agent.path, { target })).status).toBe(200);
    platform.state.connectors = [closed];
    platform.state.version = 'b';
    await agent.upstream.replace();
    await soon(() => expect(platform.sinces).toEqual([null, 'a']));
    await soon(() => expect(agent.events.filter(({ type }) => type === 'policies_changed')).toHaveLength(2));
    expect((await ask(agent.path, { target })).status).toBe(403);
  });
});

describe('a stream of changes that is lost', () => {
  const countOf = (text: string, wanted: string) => text.split(wanted).length - 1;

  it('is said once in the log and shown by the part, until it has been back for a while', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    await soon(() => expect(agent.board.statuses().gateway).toMatchObject({ state: 'ok' }));
    platform.state.changes = 'refuse';
    platform.cutWatchers();
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'degraded',
        reason: 'no stream of policy changes (not now); changes are noticed every 60 s only',
      }),
    );
    await soon(() => expect(platform.refused).toBeGreaterThan(2));
    expect(countOf(agent.written(), 'stream of policy changes is lost')).toBe(1);
    expect((await ask(agent.path, { target })).status).toBe(200);
    platform.state.changes = 'up';
    await soon(() => expect(agent.board.statuses().gateway).toEqual(expect.objectContaining({ state: 'ok' })));
    expect(countOf(agent.written(), 'stream of policy changes is back')).toBe(1);
  });

  it('is asked for again soon where a proxy says that there is none', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a', changes: 'page' });
    const agent = await openGatewayAgent(platform.url);
    await soon(() => expect(platform.refused).toBeGreaterThan(2));
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'degraded',
        reason:
          'no stream of policy changes (the answer 404 does not come from the platform); changes are noticed every 60 s only',
      }),
    );
    platform.state.changes = 'up';
    await followed(platform);
  });

  it('is not back where the platform says that it has none, and is lost where only others say so', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    // A platform that has the stream would say with its marker that it is gone.
    platform.state.version = null;
    platform.cutWatchers();
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'degraded',
        reason: expect.stringMatching(/\(no\)/),
      }),
    );
    platform.state.version = 'a';
    platform.state.changes = 'gone';
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'ok',
        reason: expect.stringMatching(/the platform does not tell of policy changes/),
      }),
    );
    expect(countOf(agent.written(), 'stream of policy changes is lost')).toBe(1);
    expect(countOf(agent.written(), 'the platform has no stream of policy changes')).toBe(1);
    expect(agent.written()).not.toContain('is back');
  });

  it('once is no reason to worry anybody', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    await soon(() => expect(agent.board.statuses().gateway).toMatchObject({ state: 'ok' }));
    platform.cutWatchers();
    await soon(() => expect(platform.sinces).toEqual([null, 'a']));
    expect(agent.board.statuses().gateway).toMatchObject({ state: 'ok' });
    expect(agent.written()).not.toContain('is lost');
  });

  it('is asked for more and more rarely, and at once after a resume', async () => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a', changes: 'refuse' });
    const agent = await openGatewayAgent(platform.url);
    await soon(() => expect(platform.refused).toBeGreaterThanOrEqual(5));
    platform.state.changes = 'up';
    const started_ms = performance.now();
    await agent.gateway.recover();
    await soon(() => expect(platform.watchers).toBe(1));
    expect(performance.now() - started_ms).toBeLessThan(LONG_MS);
  });

  it.each(['at once', 'a while later'])('to a resume is asked for once, with the recovery %s', async (when) => {
    const platform = await openStandInPlatform({ connectors: [open], version: 'a' });
    const agent = await openGatewayAgent(platform.url);
    await followed(platform);
    expect((await ask(agent.path, { target })).status).toBe(200);
    const before = platform.fetches;
    await agent.upstream.replace();
    if (when !== 'at once') await soon(() => expect(platform.sinces).toEqual([null, 'a']));
    await agent.gateway.recover();
    expect(platform.fetches).toBeGreaterThan(before);
    await soon(() => expect(platform.watchers).toBe(1));
    for (let call = 0; call < 5; call += 1) expect((await ask(agent.path, { target })).status).toBe(200);
    expect(platform.sinces).toEqual([null, 'a']);
  });
});

describe('a platform that tells of nothing', () => {
  it('is asked by the clock, and by half of the age limit at the latest', async () => {
    const platform = await openStandInPlatform({ connectors: [open] });
    const agent = await openGatewayAgent(platform.url, { policyRefresh_ms: 60_000, policyMaxAge_ms: 1_000 });
    await soon(() => expect(platform.fetches).toBeGreaterThan(3));
    await soon(async () => expect((await ask(agent.path, { target })).status).toBe(200));
    await soon(() =>
      expect(agent.board.statuses().gateway).toMatchObject({
        state: 'ok',
        reason: 'the platform does not tell of policy changes; changes are noticed every 1 s only',
      }),
    );
  });
});

describe('a refusal of the platform', () => {
  it.each([401, 403])('of %i stands, keeps its marker, and makes the agent ask again', async (status) => {
    const body = '{"error":"connection_denied","message":"connection denies all sprites by default"}';
    const platform = await openStandInPlatform({
      connectors: [open],
      onGateway: (_request, response) => response.writeHead(status, { 'remora-error': 'connection_denied' }).end(body),
    });
    // The calls count as made in one moment, however long they take.
    const clock = { ...systemClock, mono_ms: () => 0 };
    const agent = await openGatewayAgent(platform.url, { clock });
    await soon(() => expect(agent.board.statuses().gateway).toMatchObject({ state: 'ok' }));
    const before = platform.fetches;
    platform.state.connectors = [closed];
    const answer = await ask(agent.path, { target });
    expect(answer).toMatchObject({ status, text: body, headers: { 'remora-error': 'connection_denied' } });
    await soon(() => expect(platform.fetches).toBeGreaterThan(before));
    await soon(() => expect(agent.events.filter(({ type }) => type === 'policies_changed')).toHaveLength(2));
    for (let index = 0; index < 20; index += 1) await ask(agent.path, { target });
    expect(platform.fetches - before).toBeLessThan(12);
  });
});

describe('through a real platform', () => {
  async function openAll() {
    const provider = await startEchoProvider();
    const platform = await openTestPlatform({ catalogue: [provider.entry('sample')] });
    const { admin } = platform;
    await admin.createOrganization('other');
    await admin.createSprite({ organization: 'acme', name: 'dev-1', labels: ['blue'] });
    const connector = { organization: 'acme', provider: 'sample', api_key: new Secret('key') };
    await admin.createConnector({ ...connector, id: 'conn_1', access_policy: { sprite_labels: ['blue'] } });
    await admin.createConnector({
      ...connector,
      id: 'theirs',
      organization: 'other',
      access_policy: { allow_all: true },
    });
    const agent = await openGatewayAgent(platform.url, {
      token: await admin.createToken({ organization: 'acme', sprite: 'dev-1' }),
    });
    await soon(() => expect(agent.board.statuses().gateway).toMatchObject({ state: 'ok' }));
    const change = async (path: string, body: unknown, method = 'PUT') => {
      expect((await platform.call({ method, path, body })).status).toBeLessThan(300);
    };
    return { agent, platform, change, connector };
  }
  const seen = (agent: { readonly events: readonly { readonly type: string }[] }) =>
    agent.events.filter(({ type }) => type === 'policies_changed').length;

  it('a policy, another label, a new connector and one less are heard of at once', async () => {
    const { agent, platform, change, connector } = await openAll();
    const call = async () => (await ask(agent.path, { target: '/v1/gateway/sample/conn_1/x' })).status;
    expect(await call()).toBe(200);
    const steps: [() => void | Promise<void>, number][] = [
      [() => change('/v1/oauth/connections/conn_1', { access_policy: { sprite_labels: ['red'] } }), 403],
      [() => change('/v1/sprites/dev-1', { url_settings: {}, labels: ['red'] }), 200],
      [async () => void (await platform.admin.createConnector({ ...connector, id: 'conn_2', access_policy: {} })), 200],
      [() => change('/v1/oauth/connections/conn_1', undefined, 'DELETE'), 404],
    ];
    for (const [index, [step, status]] of steps.entries()) {
      const [started_ms, before] = [performance.now(), seen(agent)];
      await step();
      // A fetch that was under way may have met the change in the middle: then another one follows.
      await soon(() => expect([index, seen(agent)]).not.toEqual([index, before]));
      await soon(async () => expect([index, await call()]).toEqual([index, status]));
      expect(performance.now() - started_ms).toBeLessThan(LONG_MS);
    }
  });

  it("an unknown connector and another organization's are the same 404, from the agent and from the platform", async () => {
    const { agent, platform } = await openAll();
    const paths = ['sample/theirs/x', 'sample/nobody/x', 'openai/conn_1/x'];
    const ours = await Promise.all(paths.map((path) => ask(agent.path, { target: `/v1/gateway/${path}` })));
    const theirs = await Promise.all(paths.map((path) => platform.call({ path: `/v1/gateway/${path}` })));
    for (const answers of [ours, theirs]) {
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]).toMatchObject({ status: 404, json: { error: 'unknown_connector' } });
    }
  });
});
