// Snapshots that are thrown away: each cause is in the events and is told to the agent, and the next start is a cold one that answers well.
import { describe, expect, test } from 'vitest';
import { readProcess } from '../../../src/linux/processes/process-table.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

const opened = openOnce(() => openTestPlatform({ agentCommand: machineCommand() }));

async function openSuspended(name: string) {
  const machine = await machineOf(opened(), name);
  await machine.post('start');
  const { pid, child } = await machine.report();
  expect(await machine.suspend()).toBe(200);
  return { ...machine, pid, child, before: (await machine.read()).instance_id };
}

async function expectCold(machine: Awaited<ReturnType<typeof openSuspended>>, cause: string): Promise<void> {
  const { status, json } = await machine.post('start');
  expect([status, json.cold_start]).toEqual([200, cause]);
  expect(await machine.read()).toMatchObject({ state: 'running' });
  expect((await machine.read()).instance_id).not.toBe(machine.before);
  expect(await machine.told()).toMatchObject({ cold_start: cause });
}

describe('a snapshot', () => {
  test('that is whole is continued, and nobody is told of a cold start', async () => {
    const machine = await openSuspended('whole');
    const { json } = await machine.post('start');
    expect(json).toEqual({ previous_state: 'suspended', migrated: false });
    expect((await machine.read()).instance_id).toBe(machine.before);
    expect(await machine.events()).toEqual([
      'start starting',
      'started running',
      'suspend suspending',
      'suspended suspended',
      'resume starting',
      'started running',
    ]);
  });

  test('that somebody ended is lost', async () => {
    const machine = await openSuspended('lost');
    process.kill(machine.pid, 'SIGKILL');
    await eventually(async () => (await machine.events()).includes('discard suspended lost'));
    expect(await machine.read()).toMatchObject({ state: 'suspended' });
    await expectCold(machine, 'lost');
    expect(await machine.events()).toEqual([
      'start starting',
      'started running',
      'suspend suspending',
      'suspended suspended',
      'exit suspended',
      'discard suspended lost',
      'start starting lost',
      'started running',
    ]);
  });

  test('of which a part was ended is corrupted, and found so at the start', async () => {
    const machine = await openSuspended('corrupted');
    process.kill(machine.child, 'SIGKILL');
    await expectCold(machine, 'corrupted');
    expect((await machine.events()).slice(4)).toEqual([
      'resume starting',
      'discard suspended corrupted',
      'start starting corrupted',
      'started running',
    ]);
  });

  test('of which a part was let go on is corrupted', async () => {
    const machine = await openSuspended('thawed');
    process.kill(machine.child, 'SIGCONT');
    await expectCold(machine, 'corrupted');
  });

  test('of a machine that is stopped is gone for that', async () => {
    const machine = await openSuspended('stopped');
    expect(await machine.stop()).toBe(200);
    await expectCold(machine, 'stopped');
    expect((await machine.events()).slice(4)).toEqual([
      'stop suspended',
      'discard suspended stopped',
      'exit stopped',
      'start starting stopped',
      'started running',
    ]);
  });

  test('is told of once: the start after the cold one has no cause', async () => {
    const machine = await openSuspended('once');
    process.kill(machine.pid, 'SIGKILL');
    await eventually(async () => (await machine.events()).includes('discard suspended lost'));
    await expectCold(machine, 'lost');
    await machine.stop();
    expect((await machine.post('start')).json).toEqual({ previous_state: 'stopped', migrated: false });
    expect((await machine.told()).cold_start).toBeUndefined();
  });
});

test('a plain stop and start tells of no cold start', async () => {
  const machine = await machineOf(opened(), 'plain');
  await machine.post('start');
  await machine.stop();
  expect((await machine.post('start')).json).toEqual({ previous_state: 'stopped', migrated: false });
  expect((await machine.told()).cold_start).toBeUndefined();
});

test('a snapshot that is older than the platform keeps one has expired, and so it has at a start that comes before the next look', async () => {
  const options = { agentCommand: machineCommand(), snapshotMaxAge_ms: 1, upkeepPeriod_ms: 600_000 };
  const platform = await openTestPlatform(options);
  const machine = await machineOf(platform, 'old');
  await machine.post('start');
  expect(await machine.suspend()).toBe(200);
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect((await machine.post('start')).json).toMatchObject({ previous_state: 'suspended', cold_start: 'expired' });
  expect(await machine.told()).toMatchObject({ cold_start: 'expired' });
  expect(await machine.events()).toContain('discard suspended expired');
});

test('a look throws away the snapshots that have expired, and leaves those of running machines alone', async () => {
  const options = { agentCommand: machineCommand(), snapshotMaxAge_ms: 50, upkeepPeriod_ms: 50 };
  const platform = await openTestPlatform(options);
  const machine = await machineOf(platform, 'old');
  await machine.post('start');
  const { pid } = await machine.report();
  expect(await machine.suspend()).toBe(200);
  await eventually(async () => (await machine.events()).includes('discard suspended expired'));
  await eventually(() => readProcess(pid) === undefined);
  expect(await machine.read()).toMatchObject({ state: 'suspended' });
});
