// The usage of machines and volumes: seconds by state and gigabyte-seconds by day, also of what is deleted.
import { expect, test } from 'vitest';
import { DAY_MS, toDaySpans } from '../../../src/platform/usage/usage-days.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

const NOON = Date.parse('2026-03-10T12:00:00Z');

test('a time lies in the days that it touches', () => {
  expect(toDaySpans(NOON, NOON)).toEqual([]);
  expect(toDaySpans(NOON, NOON - 1)).toEqual([]);
  expect(toDaySpans(NOON, NOON + 1_000)).toEqual([{ day: '2026-03-10', ms: 1_000 }]);
  expect(toDaySpans(NOON, NOON + DAY_MS)).toEqual([
    { day: '2026-03-10', ms: DAY_MS / 2 },
    { day: '2026-03-11', ms: DAY_MS / 2 },
  ]);
  const midnight = NOON + DAY_MS / 2;
  expect(toDaySpans(midnight - 1, midnight).map(({ day }) => day)).toEqual(['2026-03-10']);
  expect(toDaySpans(midnight, midnight + 1).map(({ day }) => day)).toEqual(['2026-03-11']);
});

async function openTimed() {
  const time = { wall_ms: NOON };
  const clock = { wall_ms: () => time.wall_ms, mono_ms: () => performance.now() };
  const platform = await openTestPlatform({ agentCommand: machineCommand(), clock });
  const post = (path: string, body?: unknown) => platform.call({ method: 'POST', path: `/v1/apps/acme${path}`, body });
  const usage = async (query = '') => (await platform.call({ path: `/v1/machines/usage${query}` })).json;
  const pass = (ms: number) => {
    time.wall_ms += ms;
  };
  return { platform, post, usage, pass };
}

test('of a machine is the time in each state, to the end of its life and after it', async () => {
  const { platform, post, usage, pass } = await openTimed();
  const { json } = await post('/machines', { config: {}, skip_launch: true });
  const path = `/machines/${json.id}`;
  const wait = (state: string) => platform.call({ path: `/v1/apps/acme${path}/wait?state=${state}` });
  const seconds = async () => {
    const { machines } = await usage();
    return Object.fromEntries(
      machines
        .filter((each: { seconds: number }) => each.seconds > 0)
        .map(({ day, state, seconds: s }: { day: string; state: string; seconds: number }) => [`${day} ${state}`, s]),
    );
  };
  pass(1_000);
  expect(await seconds()).toEqual({ '2026-03-10 created': 1 });
  await post(`${path}/start`);
  pass(20_000);
  await post(`${path}/suspend`);
  expect((await wait('suspended')).status).toBe(200);
  pass(DAY_MS);
  const expected = { '2026-03-10 created': 1, '2026-03-10 running': 20, '2026-03-10 suspended': 43_179 };
  expect(await seconds()).toEqual({ ...expected, '2026-03-11 suspended': 43_221 });
  await post(`${path}/start`);
  await post(`${path}/stop`);
  expect((await wait('stopped')).status).toBe(200);
  pass(5_000);
  const after = { ...expected, '2026-03-11 suspended': 43_221, '2026-03-11 stopped': 5 };
  expect(await seconds()).toEqual(after);
  expect((await platform.call({ method: 'DELETE', path: `/v1/apps/acme${path}` })).status).toBe(200);
  pass(60_000);
  expect(await seconds()).toEqual(after);
  expect((await usage('?since=2026-03-11&until=2026-03-11')).machines).toEqual(
    expect.arrayContaining([{ day: '2026-03-11', app: 'acme', state: 'stopped', seconds: 5 }]),
  );
  expect(await usage('?since=2026-03-12')).toEqual({ machines: [], volumes: [] });
});

test('of a volume is its size by the time that it has it', async () => {
  const { platform, post, usage, pass } = await openTimed();
  const volume = (await post('/volumes', { name: 'data', size_gb: 2 })).json.id;
  const path = `/v1/apps/acme/volumes/${volume}`;
  pass(10_000);
  expect((await usage()).volumes).toEqual([{ day: '2026-03-10', app: 'acme', gb_seconds: 20 }]);
  expect((await platform.call({ method: 'PUT', path: `${path}/extend`, body: { size_gb: 5 } })).status).toBe(200);
  pass(10_000);
  expect((await usage()).volumes).toEqual([{ day: '2026-03-10', app: 'acme', gb_seconds: 70 }]);
  expect((await platform.call({ method: 'DELETE', path })).status).toBe(200);
  pass(10_000);
  expect((await usage()).volumes).toEqual([{ day: '2026-03-10', app: 'acme', gb_seconds: 70 }]);
});

test('of another organization is not to be seen', async () => {
  const { platform, post } = await openTimed();
  await post('/volumes', { name: 'data' });
  await platform.admin.createOrganization('other');
  const token = await platform.admin.createToken({ organization: 'other' });
  expect((await platform.call({ path: '/v1/machines/usage', token })).json).toEqual({ machines: [], volumes: [] });
});
