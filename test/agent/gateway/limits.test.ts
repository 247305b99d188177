import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { ask } from '../../support/ask.ts';
import { openGatewayAgent } from '../../support/gateway-agent.ts';
import { openRaw } from '../../support/raw-http.ts';
import { soon } from '../../support/soon.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';

const access_policy = { allow_all: true, blocked_endpoints: ['/blocked'] };
const connectors = ['conn_1', 'conn_2'].map((id) => ({ id, provider: 'openai', access_policy }));
/** No second passes on it between two calls, however long the machine makes them wait. */
const still = { ...systemClock, mono_ms: () => 0 };
const one = '/v1/gateway/openai/conn_1/v1/x';
const other = '/v1/gateway/openai/conn_2/v1/x';

describe('a connector that is used too much', () => {
  it('answers 429 with Retry-After and our marker, and leaves the others alone', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url, { callsPerSecond: 1, clock: still });
    expect((await ask(agent.path, { target: one })).status).toBe(200);
    const refused = await ask(agent.path, { target: one });
    expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
    expect(refused.headers).toMatchObject({ 'remora-error': 'too_many_requests', 'retry-after': '1' });
    expect((await ask(agent.path, { target: other })).status).toBe(200);
    expect(platform.calls.map((call) => call.target)).toEqual([one, other]);
  });

  it('is not used up by calls that the policy refuses', async () => {
    const platform = await openStandInPlatform({ connectors });
    const agent = await openGatewayAgent(platform.url, { callsPerSecond: 1, clock: still });
    for (let index = 0; index < 3; index += 1) {
      expect((await ask(agent.path, { target: '/v1/gateway/openai/conn_1/blocked' })).status).toBe(403);
    }
    expect((await ask(agent.path, { target: one })).status).toBe(200);
  });

  it('lets a call in when one of those in flight is over, also when its caller went away', async () => {
    const held: ServerResponse[] = [];
    const platform = await openStandInPlatform({
      connectors,
      onGateway: (_request, response) => void held.push(response),
    });
    const agent = await openGatewayAgent(platform.url, { callsInFlight: 1 });
    const caller = openRaw(agent.path, `GET ${one} HTTP/1.1\r\nHost: a\r\n\r\n`);
    await soon(() => expect(held).toHaveLength(1));
    expect(await ask(agent.path, { target: one })).toMatchObject({ status: 429 });
    caller.socket.destroy();
    await soon(() => expect(agent.gateway.openStreams()).toBe(0));
    const next = ask(agent.path, { target: one });
    await soon(() => expect(held).toHaveLength(2));
    held[1]?.end('ok');
    expect((await next).status).toBe(200);
  });
});

it('a target longer than the limit is 414 and goes nowhere', async () => {
  const platform = await openStandInPlatform({ connectors });
  const agent = await openGatewayAgent(platform.url, { targetCap_bytes: 100 });
  const target = one.padEnd(100, 'x');
  expect((await ask(agent.path, { target })).status).toBe(200);
  const refused = await ask(agent.path, { target: `${target}x` });
  expect(refused).toMatchObject({ status: 414, json: { error: 'target_too_long' } });
  expect(refused.headers).toHaveProperty('remora-error', 'target_too_long');
  expect(platform.calls).toHaveLength(1);
});
