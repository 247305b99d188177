import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/core/clock.ts';
import { ask } from '../../../support/ask.ts';
import { openGatewayAgent } from '../../../support/gateway-agent.ts';
import { readGatewayLog } from '../../../support/gateway-log.ts';
import { openRaw } from '../../../support/raw-http.ts';
import { soon } from '../../../support/soon.ts';
import { openStandInPlatform } from '../../../support/stand-in-platform.ts';
import { tempDir } from '../../../support/temp-dir.ts';

const open = { id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } };
const closed = { id: 'conn_1', provider: 'openai', access_policy: { allow_all: true, blocked_endpoints: ['*'] } };
const target = '/v1/gateway/openai/conn_1/v1/x';

function movableClock() {
  const offset = { wall_ms: 0, mono_ms: 0 };
  return {
    offset,
    wall_ms: () => systemClock.wall_ms() + offset.wall_ms,
    mono_ms: () => systemClock.mono_ms() + offset.mono_ms,
  };
}

describe('without a platform', () => {
  it('the gateway is off and says which settings are missing', async () => {
    const agent = await openGatewayAgent(undefined, { sprite: undefined });
    expect(await ask(agent.path, { target })).toMatchObject({
      status: 503,
      json: { error: 'not_configured', message: expect.stringContaining('REMORA_BASE_URL and REMORA_SPRITE') },
    });
    expect(agent.board.statuses().gateway).toMatchObject({ state: 'off' });
    expect(await ask(agent.path, { target: '/v1/gateway/list' })).toMatchObject({ status: 503 });
    expect(await readGatewayLog(agent.path)).toMatchObject({ records: [] });
  });

  it('that has never been reached, every call is refused', async () => {
    const agent = await openGatewayAgent('http://127.0.0.1:1');
    const answer = await ask(agent.path, { target });
    expect(answer).toMatchObject({ status: 503, json: { error: 'policy_unavailable' } });
    expect(answer.headers).toMatchObject({ 'remora-error': 'policy_unavailable', 'retry-after': '1' });
    expect(agent.board.statuses().gateway).toMatchObject({ state: 'failed' });
  });

  it('that hangs, a call is answered within seconds', async () => {
    const platform = await openStandInPlatform({ mode: 'hang' });
    const agent = await openGatewayAgent(platform.url, { early: true });
    const started_ms = performance.now();
    expect(await ask(agent.path, { target })).toMatchObject({ status: 503, json: { error: 'policy_unavailable' } });
    expect(performance.now() - started_ms).toBeLessThan(60_000);
  });
});

describe('policies that were fetched', () => {
  it('survive a restart without the platform', async () => {
    const databasePath = join(tempDir(), 'agent.db');
    const platform = await openStandInPlatform({ connectors: [open] });
    const first = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(first.path, { target })).status).toBe(200);
    first.stop();
    platform.state.mode = 'refuse';
    const second = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(second.path, { target })).status).toBe(200);
    await soon(() =>
      expect(second.board.statuses().gateway).toMatchObject({
        state: 'degraded',
        reason: expect.stringContaining('being repaired'),
      }),
    );
  });

  it('of another sprite are not used', async () => {
    const databasePath = join(tempDir(), 'agent.db');
    const platform = await openStandInPlatform({ connectors: [open] });
    const first = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(first.path, { target })).status).toBe(200);
    platform.state.mode = 'refuse';
    const second = await openGatewayAgent(platform.url, { databasePath, sprite: 'dev-2' });
    expect((await ask(second.path, { target })).status).toBe(503);
  });

  it.each([
    ['not JSON', 'nonsense'],
    ['another shape', '{"connections":[{}]}'],
  ])('and are %s in the database count as never fetched', async (_name, document) => {
    const databasePath = join(tempDir(), 'agent.db');
    const platform = await openStandInPlatform({ connectors: [open] });
    const first = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(first.path, { target })).status).toBe(200);
    first.stop();
    first.db.prepare('UPDATE gateway_policy SET document = ?').run(document);
    platform.state.mode = 'refuse';
    const second = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(second.path, { target })).status).toBe(503);
    platform.state.mode = 'up';
    await second.gateway.recover();
    expect((await ask(second.path, { target })).status).toBe(200);
  });

  it('serve on when they cannot be kept, and the part says so', async () => {
    const platform = await openStandInPlatform({ connectors: [open] });
    const agent = await openGatewayAgent(platform.url);
    agent.db.exec('DROP TABLE gateway_policy; DROP TABLE gateway_tokens');
    await agent.gateway.recover();
    expect((await ask(agent.path, { target })).status).toBe(200);
    expect(agent.board.statuses().gateway).toMatchObject({
      state: 'degraded',
      reason: expect.stringContaining('cannot be kept'),
    });
    const made = await ask(agent.path, { method: 'POST', target: '/v1/gateway/tokens' });
    expect(made.status).toBe(201);
  });

  it.each([
    ['the wall clock', { wall_ms: 11 * 60_000, mono_ms: 0 }],
    ['the run time, with a wall clock that was set back', { wall_ms: -3_600_000, mono_ms: 11 * 60_000 }],
  ])('are refused when too old by %s', async (_name, moved) => {
    const clock = movableClock();
    const platform = await openStandInPlatform({ connectors: [open] });
    const agent = await openGatewayAgent(platform.url, { clock });
    expect((await ask(agent.path, { target })).status).toBe(200);
    platform.state.mode = 'refuse';
    Object.assign(clock.offset, moved);
    expect(await ask(agent.path, { target })).toMatchObject({ status: 503, json: { error: 'policy_unavailable' } });
    expect(platform.calls).toHaveLength(1);
    platform.state.mode = 'up';
    await agent.gateway.recover();
    expect((await ask(agent.path, { target })).status).toBe(200);
  });

  it('of an earlier process are refused when the clock shows less than the time of the fetch', async () => {
    const databasePath = join(tempDir(), 'agent.db');
    const platform = await openStandInPlatform({ connectors: [open] });
    const first = await openGatewayAgent(platform.url, { databasePath });
    expect((await ask(first.path, { target })).status).toBe(200);
    platform.state.mode = 'refuse';
    const clock = movableClock();
    clock.offset.wall_ms = -600_000;
    const second = await openGatewayAgent(platform.url, { databasePath, clock });
    expect((await ask(second.path, { target })).status).toBe(503);
  });
});

describe('a change on the platform', () => {
  it('is seen at once by a call that would otherwise be refused', async () => {
    const platform = await openStandInPlatform();
    const agent = await openGatewayAgent(platform.url);
    expect((await ask(agent.path, { target })).status).toBe(404);
    platform.state.connectors = [closed];
    expect((await ask(agent.path, { target })).status).toBe(403);
    platform.state.connectors = [open];
    expect((await ask(agent.path, { target })).status).toBe(200);
  });

  it('is not asked for by every one of many refused calls', async () => {
    const platform = await openStandInPlatform();
    // They count as made in one moment, however long they take.
    const clock = { ...systemClock, mono_ms: () => 0 };
    const agent = await openGatewayAgent(platform.url, { clock });
    for (let index = 0; index < 60; index += 1) await ask(agent.path, { target });
    expect(platform.fetches).toBeLessThan(15);
  });

  it('ends an open stream that it no longer allows, and says why', async () => {
    const platform = await openStandInPlatform({
      connectors: [open, { ...open, id: 'conn_2' }],
      onGateway: (_request, response) => response.write('data: 1\n\n'),
    });
    const agent = await openGatewayAgent(platform.url);
    const cut = openRaw(agent.path, `GET ${target} HTTP/1.1\r\nHost: a\r\n\r\n`);
    const kept = openRaw(agent.path, `GET ${target.replace('conn_1', 'conn_2')} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await Promise.all([cut.until(/data: 1/), kept.until(/data: 1/)]);
    expect(agent.gateway.openStreams()).toBe(2);
    platform.state.connectors = [closed, { ...open, id: 'conn_2' }];
    await agent.gateway.recover();
    expect(await cut.ended).not.toMatch(/0\r\n\r\n$/);
    expect(agent.gateway.openStreams()).toBe(1);
    expect(kept.socket.destroyed).toBe(false);
    expect(agent.written()).toMatch(/"code":"endpoint_blocked".*"a call was ended, because it is not allowed any more/);
    expect(agent.events.map(({ type }) => type)).toContain('gateway_call_ended');
    await soon(async () => {
      expect(await readGatewayLog(agent.path)).toMatchObject({
        records: [{ connector_id: 'conn_1', ended: 'cut', code: 'endpoint_blocked' }],
      });
    });
  });
});
