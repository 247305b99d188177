// What a host does for its machines by itself: the drain of its operator, and schedules.
import { describe, expect, test } from 'vitest';
import { createDrainStore } from '../../../src/platform/hosts/drain-store.ts';
import { judgeDrain } from '../../../src/platform/machines/moves/judge-drain.ts';
import { isDue } from '../../../src/platform/machines/moves/judge-schedule.ts';
import { openSqliteStorage } from '../../../src/platform/storage/sqlite-storage.ts';
import { eventually } from '../../support/eventually.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

test('a drain throws snapshots away and stops what runs; nothing starts until it is over, then what ran runs again', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), upkeepPeriod_ms: 50 });
  const [asleep, awake, once, idle] = await Promise.all([
    machineOf(platform, 'asleep'),
    machineOf(platform, 'awake'),
    machineOf(platform, 'once', { restart: { policy: 'no' } }),
    machineOf(platform, 'idle'),
  ]);
  await Promise.all([asleep.post('start'), awake.post('start'), once.post('start')]);
  expect(await asleep.suspend()).toBe(200);
  await using storage = openSqliteStorage(platform.dir);
  const drains = createDrainStore(storage);
  await drains.drain('local', Date.now());
  await Promise.all([awake.wait('state=stopped'), once.wait('state=stopped')]);
  await eventually(async () => (await asleep.events()).includes('discard suspended maintenance'));
  expect(await asleep.read()).toMatchObject({ state: 'suspended' });
  expect(await awake.events()).toContain('stop running maintenance');
  for (const machine of [asleep, awake, idle]) {
    expect(await machine.post('start')).toMatchObject({ status: 503, json: { error: 'host_drained' } });
  }
  await drains.undrain('local');
  expect(await awake.wait('state=running')).toBe(200);
  expect(await once.read()).toMatchObject({ state: 'stopped' });
  expect((await asleep.post('start')).json).toMatchObject({ previous_state: 'suspended', cold_start: 'maintenance' });
  expect(await asleep.told()).toMatchObject({ cold_start: 'maintenance' });
});

describe('a drain', () => {
  test.each([
    ['suspended', null, {}, 'discard'],
    ['suspended', 'lost', {}, 'nothing'],
    ['running', null, {}, 'stop and keep'],
    ['starting', null, { restart: { policy: 'always' } }, 'stop and keep'],
    ['suspending', null, {}, 'stop and keep'],
    ['running', null, { restart: { policy: 'no' } }, 'stop'],
    ['running', null, { schedule: 'daily' }, 'stop'],
    ['running', null, { external: true }, 'nothing'],
    ['created', null, {}, 'nothing'],
    ['stopped', null, {}, 'nothing'],
    ['failed', null, {}, 'nothing'],
  ] as const)('of a host with a %s machine (discarded: %s, %o): %s', (state, discarded, config, step) => {
    expect(judgeDrain({ state, discarded, config })).toBe(step);
  });
});

describe('a schedule', () => {
  const HOUR_MS = 3_600_000;
  const idle = { wanted: 'stopped', created_at: 0, started_at: null } as const;

  test.each([
    ['hourly', 1],
    ['daily', 24],
    ['weekly', 168],
    ['monthly', 720],
  ])('%s is due %i hours after the last boot, or after the machine was made', (schedule, hours) => {
    const config = { schedule };
    expect(isDue({ ...idle, config }, hours * HOUR_MS)).toBe(true);
    expect(isDue({ ...idle, config }, hours * HOUR_MS - 1)).toBe(false);
    expect(isDue({ ...idle, config, started_at: HOUR_MS }, (hours + 1) * HOUR_MS - 1)).toBe(false);
    expect(isDue({ ...idle, config, started_at: HOUR_MS }, (hours + 1) * HOUR_MS)).toBe(true);
  });

  test('starts nothing that is to be destroyed, that runs elsewhere, or that has no known one', () => {
    const late = 10_000 * HOUR_MS;
    expect(isDue({ ...idle, config: { schedule: 'daily' }, wanted: 'destroyed' }, late)).toBe(false);
    expect(isDue({ ...idle, config: { schedule: 'daily', external: true } }, late)).toBe(false);
    expect(isDue({ ...idle, config: { schedule: '* * * * *' } }, late)).toBe(false);
    expect(isDue({ ...idle, config: {} }, late)).toBe(false);
  });

  test('has the platform start the machine', async () => {
    const platform = await openTestPlatform({ agentCommand: machineCommand(), upkeepPeriod_ms: 50 });
    const machine = await machineOf(platform, 'worker', { schedule: 'hourly' });
    await machine.post('start');
    await machine.stop();
    await using storage = openSqliteStorage(platform.dir);
    await storage.run('UPDATE machines SET started_at = started_at - 3600000');
    expect(await machine.wait('state=running')).toBe(200);
  });
});
