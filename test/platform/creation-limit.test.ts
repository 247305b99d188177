// How many sprites an organization may create in a minute, as the client of the Sprites API reads the refusal.
import { APIError, SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/core/clock.ts';
import { openTestPlatform } from '../support/open-platform.ts';

async function openLimited() {
  const now = { wall_ms: Date.now() };
  const clock = { ...systemClock, wall_ms: () => now.wall_ms };
  const platform = await openTestPlatform({ creationLimit: 2, clock });
  const client = new SpritesClient(platform.token.reveal(), { baseURL: platform.url });
  const create = async (name: string): Promise<APIError | undefined> => {
    try {
      await client.createSprite(name);
      return undefined;
    } catch (error) {
      if (error instanceof APIError) return error;
      throw error;
    }
  };
  return { platform, client, create, now };
}

test('a creation too many is refused with the limit, the window and the time to wait', async () => {
  const { create, now } = await openLimited();
  const begun_ms = now.wall_ms;
  expect(await create('a')).toBeUndefined();
  now.wall_ms += 20_000;
  expect(await create('b')).toBeUndefined();
  const error = await create('c');
  expect([error?.statusCode, error?.isCreationRateLimited(), error?.isRateLimitError()]).toEqual([429, true, true]);
  expect(error).toMatchObject({
    errorCode: 'sprite_creation_rate_limited',
    limit: 2,
    windowSeconds: 60,
    retryAfterSeconds: 40,
    retryAfterHeader: 40,
    rateLimitLimit: 2,
    rateLimitRemaining: 0,
    rateLimitReset: Math.ceil((begun_ms + 60_000) / 1_000),
  });
  now.wall_ms += 39_000;
  expect((await create('c'))?.getRetryAfterSeconds()).toBe(1);
  now.wall_ms += 1_000;
  expect([await create('c'), await create('d')]).toEqual([undefined, undefined]);
  expect((await create('e'))?.isCreationRateLimited()).toBe(true);
  // A clock that is set back does not lock the organization out.
  now.wall_ms -= 3_600_000;
  expect(await create('e')).toBeUndefined();
});

test('a creation that fails does not count, a deletion gives nothing back, and nobody else is held up', async () => {
  const { platform, client, create } = await openLimited();
  expect(await create('a')).toBeUndefined();
  expect((await create('a'))?.statusCode).toBe(409);
  expect((await create('Not a name'))?.statusCode).toBe(400);
  await client.deleteSprite('a');
  expect(await create('b')).toBeUndefined();
  expect((await create('c'))?.isCreationRateLimited()).toBe(true);
  await platform.admin.createOrganization('other');
  const token = await platform.admin.createToken({ organization: 'other' });
  const others = await platform.call({ method: 'POST', path: '/v1/sprites', body: { name: 'c' }, token });
  expect(others.status).toBe(201);
  await platform.admin.createSprite({ organization: 'acme', name: 'by-the-operator' });
});

test('the limit of an organization stands before that of the platform', async () => {
  const { platform, create } = await openLimited();
  await platform.admin.setLimits('acme', { creation_limit: 3 });
  expect((await platform.call({ path: '/v1/organization' })).json).toMatchObject({ creation_limit: 3 });
  const made = await Promise.all(['a', 'b', 'c', 'd', 'e'].map(create));
  expect(made.filter((error) => error === undefined)).toHaveLength(3);
  expect(made.filter((error) => error?.limit === 3)).toHaveLength(2);
  await platform.admin.setLimits('acme', { creation_limit: null });
  expect((await create('f'))?.limit).toBe(2);
  await platform.admin.setLimits('acme', { creation_limit: 0 });
  expect((await create('f'))?.limit).toBe(0);
});
