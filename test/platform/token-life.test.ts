// Tokens over time: expiry, revocation, tokens that only read, and how often each may call.
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { openTestPlatform } from '../support/open-platform.ts';

function createTestClock(): Clock & { wall: number; mono: number } {
  return {
    wall: Date.UTC(2026, 0, 1),
    mono: 0,
    wall_ms() {
      return this.wall;
    },
    mono_ms() {
      return this.mono;
    },
  };
}

describe('a token', () => {
  test('opens nothing from its expiry on, whichever way the clock is stepped', async () => {
    const clock = createTestClock();
    const platform = await openTestPlatform({ clock });
    const token = await platform.admin.createToken({ organization: 'acme', expires_at: clock.wall + 60_000 });
    const status = async () => (await platform.call({ path: '/v1/sprites', token })).status;
    expect(await status()).toBe(200);
    clock.wall += 60_000;
    expect(await status()).toBe(401);
    clock.wall += 3_600_000;
    expect(await status()).toBe(401);
    clock.wall -= 7_200_000;
    expect(await status()).toBe(200);
  });

  test('opens nothing once it is revoked, and is listed without its text until then', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createOrganization('other');
    const token = await platform.admin.createToken({ organization: 'acme', name: 'ci', user_id: 'alice' });
    const listed = (await platform.admin.listTokens('acme')).find(({ name }) => name === 'ci');
    expect(listed).toMatchObject({ user_id: 'alice', access: 'full', sprite_id: null, expires_at: null });
    expect(JSON.stringify(await platform.admin.listTokens('acme'))).not.toContain(token.reveal());
    const id = listed?.id ?? '';
    await expect(platform.admin.revokeToken('other', id)).rejects.toThrow('has no token');
    expect((await platform.call({ path: '/v1/sprites', token })).status).toBe(200);
    await platform.admin.revokeToken('acme', id);
    const answer = await platform.call({ path: '/v1/sprites', token });
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, 'Bearer']);
    expect((await platform.call({ path: '/v1/sprites' })).status).toBe(200);
  });

  test('that only reads changes nothing and calls no provider', async () => {
    const platform = await openTestPlatform();
    await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
    const token = await platform.admin.createToken({ organization: 'acme', access: 'read' });
    const sprite = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1', access: 'read' });
    const status = async (method: string, path: string, body?: unknown, by = token) =>
      (await platform.call({ method, path, body, token: by })).status;
    expect(await status('GET', '/v1/sprites')).toBe(200);
    expect(await status('GET', '/v1/gateway/list', undefined, sprite)).toBe(200);
    expect(await status('POST', '/v1/sprites', { name: 'dev-2' })).toBe(403);
    expect(await status('DELETE', '/v1/sprites/dev-1')).toBe(403);
    expect(await status('PUT', '/v1/sprites/dev-1', { url_settings: {} })).toBe(403);
    expect(await status('GET', '/v1/gateway/openai/conn_1/v1/models', undefined, sprite)).toBe(403);
    expect((await platform.call({ path: '/v1/sprites/dev-1' })).status).toBe(200);
    const refused = await platform.call({ method: 'DELETE', path: '/v1/sprites/dev-1', token });
    expect(refused.json.error).toBe('read_only');
  });

  test('that calls too often is told when to come back, and holds up no other token', async () => {
    const clock = createTestClock();
    const platform = await openTestPlatform({ clock, callRate: { burst: 3, perSecond: 0.5 } });
    const other = await platform.admin.createToken({ organization: 'acme' });
    const call = (token = platform.token) => platform.call({ path: '/v1/sprites', token });
    const statuses = [await call(), await call(), await call(), await call()].map(({ status }) => status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    const refused = await call();
    expect(refused.json).toMatchObject({ error: 'too_many_requests' });
    expect(refused.headers.get('retry-after')).toBe('2');
    expect((await call(other)).status).toBe(200);
    clock.mono += 2_000;
    expect((await call()).status).toBe(200);
  });
});
