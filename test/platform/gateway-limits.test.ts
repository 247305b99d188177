import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { Secret } from '../../src/core/secret.ts';
import type { GatewayLimits } from '../../src/platform/gateway/gateway-limits.ts';
import { startEchoProvider } from '../support/echo-provider.ts';
import { openTestPlatform, type PlatformCall } from '../support/open-platform.ts';

const many = { perSecond: 1_000, inFlight: 100 };

async function open(limits: Partial<GatewayLimits>) {
  const provider = await startEchoProvider();
  const gatewayLimits = { connector: many, sprite: many, ...limits };
  // It stands still: no call is allowed again while a test makes the next one.
  const clock = { wall_ms: systemClock.wall_ms, mono_ms: () => 0 };
  const platform = await openTestPlatform({ catalogue: [provider.entry('openai')], gatewayLimits, clock });
  const { admin } = platform;
  const organization = 'acme';
  for (const id of ['conn_1', 'conn_2']) {
    const access_policy = { allow_all: true };
    await admin.createConnector({ organization, provider: 'openai', api_key: new Secret('k'), id, access_policy });
  }
  const tokens: Secret[] = [];
  for (const sprite of ['one', 'two']) {
    await admin.createSprite({ organization, name: sprite });
    tokens.push(await admin.createToken({ organization, sprite }));
  }
  const call = (sprite: 0 | 1, id: string, more: Partial<PlatformCall> = {}) =>
    platform.call({ path: `/v1/gateway/openai/${id}/x`, token: tokens[sprite], ...more });
  return { provider, call };
}

describe('calls through the platform beyond a limit', () => {
  it('of the connector are 429 with our marker, for every sprite, and other connectors go on', async () => {
    const { provider, call } = await open({ connector: { perSecond: 1, inFlight: 100 } });
    expect((await call(0, 'conn_1')).status).toBe(200);
    const refused = await call(1, 'conn_1');
    expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
    expect(refused.headers.get('remora-error')).toBe('too_many_requests');
    expect(refused.headers.get('retry-after')).toBe('1');
    expect((await call(1, 'conn_2')).status).toBe(200);
    expect(provider.requests).toHaveLength(2);
  });

  it('of a body are 413, and reach nobody', async () => {
    const { provider, call } = await open({ bodyCap_bytes: 20 });
    const post = (text: string) => call(0, 'conn_1', { method: 'POST', body: text });
    expect(await post('x'.repeat(30))).toMatchObject({ status: 413, json: { error: 'payload_too_large' } });
    expect(provider.requests).toHaveLength(0);
    expect((await post('x')).status).toBe(200);
  });

  it('of the sprite are 429 on every connector, and other sprites go on', async () => {
    const { provider, call } = await open({ sprite: { perSecond: 1, inFlight: 100 } });
    expect((await call(0, 'conn_1')).status).toBe(200);
    expect((await call(0, 'conn_2')).status).toBe(429);
    expect((await call(1, 'conn_1')).status).toBe(200);
    expect(provider.requests).toHaveLength(2);
  });

  it('count calls that are refused, so that a loop of them is bounded too', async () => {
    const { call } = await open({ sprite: { perSecond: 2, inFlight: 100 } });
    const statuses = [await call(0, 'none'), await call(0, 'none'), await call(0, 'none'), await call(1, 'none')];
    expect(statuses.map(({ status }) => status)).toEqual([404, 404, 429, 404]);
  });
});
