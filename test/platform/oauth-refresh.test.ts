// Authorizations that end: renewed once for all who wait, and survived when the provider says no or nothing.

import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, test } from 'vitest';
import type { Clock } from '../../src/core/clock.ts';
import { eventually } from '../support/eventually.ts';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform } from '../support/open-platform.ts';

const HOUR_MS = 3_600_000;

async function openConnected() {
  const provider = await startOAuthProvider();
  provider.state.expires_in = 3_600;
  const clock: Clock & { wall: number } = {
    wall: Date.now(),
    wall_ms: () => clock.wall,
    mono_ms: () => clock.wall,
  };
  const platform = await openTestPlatform({
    clock,
    catalogue: [provider.entry('hub')],
    oauthClients: [provider.client('hub')],
  });
  async function authorize() {
    const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
    const body = { code: provider.agree(json.authorize_url), state: json.state, access_policy: { allow_all: true } };
    return (await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body })).json.connection;
  }
  const { id } = await authorize();
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const use = () => platform.call({ path: `/v1/gateway/hub/${id}/user`, token });
  const refreshes = () => provider.tokenCalls.filter(({ grant_type }) => grant_type === 'refresh_token').length;
  const read = async () => (await platform.call({ path: `/v1/oauth/connections/${id}` })).json.connection;
  return { provider, clock, platform, authorize, use, refreshes, read, id };
}

describe('a token that is about to end', () => {
  test('is renewed once for all who call at once, and the new one is used', async () => {
    const { provider, clock, use, refreshes, read } = await openConnected();
    expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(0);
    const before = provider.used.at(-1);
    clock.wall += HOUR_MS - 30_000;
    const answers = await Promise.all(Array.from({ length: 10 }, use));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(refreshes()).toBe(1);
    expect(provider.used.at(-1)).not.toBe(before);
    expect(Date.parse((await read()).token_expires_at)).toBe(clock.wall + HOUR_MS);
    clock.wall += HOUR_MS;
    expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(2);
  });

  test('keeps the token for renewal when the provider gives no other', async () => {
    const { provider, clock, use, refreshes, platform, id } = await openConnected();
    provider.state.rotates = false;
    for (let round = 1; round <= 3; round += 1) {
      clock.wall += HOUR_MS;
      expect((await use()).status).toBe(200);
      expect(refreshes()).toBe(round);
    }
    expect((await platform.call({ method: 'DELETE', path: `/v1/oauth/connections/${id}` })).status).toBe(204);
  });

  test('of somebody who lost the race is the one that the winner got', async () => {
    const { provider, clock, use, authorize, refreshes } = await openConnected();
    clock.wall += HOUR_MS;
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.state.beforeRefresh = () => promise;
    const losing = use();
    await eventually(() => (refreshes() === 1 ? true : undefined));
    await authorize();
    provider.state.refreshFailure = 'invalid_grant';
    resolve();
    expect((await losing).status).toBe(200);
    expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(1);
  });

  test('is not written over by a renewal that was slower than a new authorization', async () => {
    const { provider, clock, use, authorize, refreshes } = await openConnected();
    clock.wall += HOUR_MS;
    const { promise, resolve } = Promise.withResolvers<void>();
    provider.state.beforeRefresh = () => promise;
    const losing = use();
    await eventually(() => (refreshes() === 1 ? true : undefined));
    await authorize();
    const winner = (await use()).status;
    const newest = provider.used.at(-1);
    resolve();
    expect([winner, (await losing).status]).toEqual([200, 200]);
    expect(provider.used.at(-1)).toBe(newest);
  });
});

describe('a token that lives shorter than the time before its end at which others are renewed', () => {
  test('is used for most of its life, then renewed once', async () => {
    const { provider, clock, authorize, use, refreshes } = await openConnected();
    provider.state.expires_in = 40;
    await authorize();
    for (let second = 0; second < 25; second += 5) {
      expect((await use()).status).toBe(200);
      clock.wall += 5_000;
    }
    expect(refreshes()).toBe(0);
    clock.wall += 10_000;
    await Promise.all(Array.from({ length: 5 }, use));
    for (let call = 0; call < 3; call += 1) expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(1);
  });
});

describe('a provider that renews no more', () => {
  test('ends the use of the connector with the token, says so, and is not asked again; a new authorization heals it', async () => {
    const { provider, clock, use, refreshes, authorize, read, id } = await openConnected();
    provider.state.refreshFailure = 'invalid_grant';
    clock.wall += HOUR_MS - 30_000;
    expect((await use()).status).toBe(200);
    expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(1);
    clock.wall += 60_000;
    const refused = await use();
    expect([refused.status, refused.json.error]).toEqual([403, 'authorization_ended']);
    expect(refreshes()).toBe(1);
    expect(await read()).toMatchObject({ id, notes: [{ title: 'Authorization ended' }] });
    provider.state.refreshFailure = undefined;
    expect(await authorize()).toMatchObject({ id });
    expect((await use()).status).toBe(200);
    expect(await read()).not.toHaveProperty('notes');
  });

  test('is asked again after a while when it was only ill, and its token is used as long as it is good', async () => {
    const { provider, clock, use, refreshes } = await openConnected();
    provider.state.refreshFailure = 503;
    clock.wall += HOUR_MS - 30_000;
    expect((await use()).status).toBe(200);
    expect((await use()).status).toBe(200);
    expect(refreshes()).toBe(1);
    clock.wall += 31_000;
    const refused = await use();
    expect([refused.status, refused.json.error]).toEqual([502, 'upstream_failed']);
    provider.state.refreshFailure = undefined;
    expect((await use()).status).toBe(200);
  });
});

test('a connector whose stored type was damaged is listed and opens nothing', async () => {
  const { platform, use, read, provider } = await openConnected();
  const db = new Database(join(platform.dir, 'platform.db'));
  db.exec("UPDATE connectors SET connection_type = 'nonsense'");
  db.close();
  expect(await read()).toMatchObject({ connection_type: 'internal' });
  const before = provider.used.length;
  expect((await use()).json.error).toBe('record_altered');
  expect(provider.used.length).toBe(before);
});
