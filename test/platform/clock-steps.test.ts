// A wall clock that jumps under a running platform: what is bounded by time stays bounded, and what is not does not care.
import { expect, test } from 'vitest';
import { startOAuthProvider } from '../support/oauth-provider.ts';
import { openTestPlatform, type TestPlatformOptions } from '../support/open-platform.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Only the wall clock is stepped: the monotonic one is the kernel's. */
async function openStepped(options: TestPlatformOptions = {}) {
  const clock = { step_ms: 0, wall_ms: () => Date.now() + clock.step_ms, mono_ms: () => performance.now() };
  return { clock, platform: await openTestPlatform({ clock, ...options }) };
}

test.each([DAY_MS, -DAY_MS])('a list goes on over a step of %s ms, and shows each sprite once', async (step_ms) => {
  const { clock, platform } = await openStepped();
  for (const name of ['a', 'b', 'c']) await platform.admin.createSprite({ organization: 'acme', name });
  const first = (await platform.call({ path: '/v1/sprites?max_results=2' })).json;
  clock.step_ms = step_ms;
  await platform.admin.createSprite({ organization: 'acme', name: 'd' });
  const token = first.next_continuation_token;
  const rest = (await platform.call({ path: `/v1/sprites?continuation_token=${token}` })).json;
  const names = [...first.sprites, ...rest.sprites].map(({ name }: { name: string }) => name);
  expect(names).toEqual(['a', 'b', 'c', 'd']);
  const made = Date.parse(rest.sprites[1].created_at);
  expect(Math.abs(made - clock.wall_ms())).toBeLessThan(60_000);
  const put = await platform.call({ method: 'PUT', path: '/v1/sprites/a', body: { url_settings: {} } });
  expect(put.status).toBe(200);
});

test('an authorization that was begun is over after its ten minutes by the present clock, and used once before', async () => {
  const provider = await startOAuthProvider();
  const { clock, platform } = await openStepped({
    catalogue: [provider.entry('hub')],
    oauthClients: [provider.client('hub')],
  });
  const begin = async () => (await platform.call({ path: '/v1/oauth/hub/authorize' })).json;
  const finish = async ({ authorize_url, state }: { authorize_url: string; state: string }) => {
    const body = { code: provider.agree(authorize_url), state };
    return (await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body })).status;
  };
  const before = await begin();
  clock.step_ms = HOUR_MS;
  expect(await finish(before)).toBe(400);
  const after = await begin();
  clock.step_ms = 0;
  expect([await finish(after), await finish(after)]).toEqual([201, 400]);
});

test('a token is renewed when the clock says so, and a clock that comes back asks for no other', async () => {
  const provider = await startOAuthProvider();
  provider.state.expires_in = 7_200;
  const { clock, platform } = await openStepped({
    catalogue: [provider.entry('hub')],
    oauthClients: [provider.client('hub')],
  });
  const { json } = await platform.call({ path: '/v1/oauth/hub/authorize' });
  const body = { code: provider.agree(json.authorize_url), state: json.state, access_policy: { allow_all: true } };
  const made = await platform.call({ method: 'POST', path: '/v1/oauth/hub/callback', body });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const token = await platform.admin.createToken({ organization: 'acme', sprite: 'dev-1' });
  const use = async () =>
    (await platform.call({ path: `/v1/gateway/hub/${made.json.connection.id}/user`, token })).status;
  const renewals = () => provider.tokenCalls.filter(({ grant_type }) => grant_type === 'refresh_token').length;
  const seen: [number, number][] = [];
  for (const step_ms of [0, DAY_MS, 0, -DAY_MS, HOUR_MS]) {
    clock.step_ms = step_ms;
    seen.push([await use(), renewals()]);
  }
  expect(seen).toEqual([
    [200, 0],
    [200, 1],
    [200, 1],
    [200, 1],
    [200, 1],
  ]);
});

test('neither the rate of a token nor a wait for a machine is measured by the wall clock', async () => {
  const { clock, platform } = await openStepped({ callRate: { burst: 2, perSecond: 0.01 } });
  await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' });
  const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
  const waiting = platform.call({ path: `/v1/apps/acme/machines/${id}/wait?state=suspended&timeout=1` });
  const begun_ms = performance.now();
  clock.step_ms = DAY_MS;
  expect((await waiting).status).toBe(408);
  expect(performance.now() - begun_ms).toBeGreaterThan(900);
  expect((await platform.call({ path: '/v1/sprites' })).status).toBe(200);
  for (const step_ms of [DAY_MS, -DAY_MS, 0]) {
    clock.step_ms = step_ms;
    expect((await platform.call({ path: '/v1/sprites' })).status).toBe(429);
  }
});
