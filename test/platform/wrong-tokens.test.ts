// Tokens that are not valid, in great numbers: none of them may cost the others anything.
import { expect, it } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { createWrongTokens } from '../../src/platform/tokens/wrong-tokens.ts';
import { openTestPlatform } from '../support/open-platform.ts';

/** So slow that none comes back while a test runs. */
const rates = { ofAddress: { burst: 5, perSecond: 0.001 }, ofAll: { burst: 1_000, perSecond: 100 } };
const statusOf = (path: string, token: Secret) => ({ path, token });

it('are refused after a few, before the database is asked, while tokens that were good go on', async () => {
  const platform = await openTestPlatform({ wrongTokens: rates });
  const { admin, call } = platform;
  expect((await call({ path: '/v1/sprites' })).status).toBe(200);
  const statuses: number[] = [];
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const { status } = await call(statusOf('/v1/sprites', new Secret(`nonsense-${attempt}`)));
    statuses.push(status);
  }
  expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429, 429]);
  const refused = await call(statusOf('/v1/gateway/openai/conn_1/x', new Secret('nonsense')));
  expect(refused).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  // Nobody has looked this one up: had the database been asked, it would be let in.
  const fresh = await admin.createToken({ organization: 'acme' });
  expect((await call(statusOf('/v1/sprites', fresh))).status).toBe(429);
  expect((await call({ path: '/v1/sprites' })).status).toBe(200);
});

it('count once they are revoked', async () => {
  const platform = await openTestPlatform({ wrongTokens: { ...rates, ofAddress: { burst: 2, perSecond: 0.001 } } });
  const { admin, call } = platform;
  const token = await admin.createToken({ organization: 'acme', name: 'later revoked' });
  for (let round = 0; round < 5; round += 1) expect((await call(statusOf('/v1/sprites', token))).status).toBe(200);
  const known = (await admin.listTokens('acme')).find(({ name }) => name === 'later revoked');
  await admin.revokeToken('acme', known?.id ?? '');
  const statuses: number[] = [];
  for (let round = 0; round < 4; round += 1) statuses.push((await call(statusOf('/v1/sprites', token))).status);
  expect(statuses).toEqual([401, 401, 401, 429]);
});

it('of one address do not use up what others may try, and those of one network count together', () => {
  let now_ms = 0;
  const wrong = createWrongTokens(() => now_ms, {
    ofAddress: { burst: 2, perSecond: 1 },
    ofAll: { burst: 5, perSecond: 1 },
  });
  for (const address of ['192.0.2.1', '::ffff:192.0.2.1']) wrong.begin(address);
  for (let round = 0; round < 10; round += 1) expect(() => wrong.begin('192.0.2.1')).toThrow(/too many tokens/);
  wrong.begin('2001:db8:1:2::1');
  wrong.begin('2001:db8:1:2:ffff::9');
  expect(() => wrong.begin('2001:db8:1:2:3:4:5:6')).toThrow();
  wrong.begin('2001:db8:1:3::1').forgive();
  wrong.begin('192.0.2.2');
  expect(() => wrong.begin('192.0.2.3')).toThrow();
  now_ms = 1_000;
  wrong.begin('192.0.2.3');
});
