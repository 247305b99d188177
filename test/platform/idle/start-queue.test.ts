// Starts where no more sprites may run: who waits, who makes room, and who is refused.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/core/clock.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';
import { createChanges } from '../../../src/platform/changes.ts';
import { createStartQueue } from '../../../src/platform/idle/start-queue.ts';
import type { MachineRow } from '../../../src/platform/machines/records/machine-row.ts';
import { eventually } from '../../support/eventually.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

/** An organization that may run so many machines, and what is asked to make room. */
function openQueue({ limit, wait_ms, mayRoom = true }: { limit: number; wait_ms: number; mayRoom?: boolean }) {
  const changes = createChanges();
  const running: string[] = [];
  const rooms: number[] = [];
  /** The states of those that do not run. */
  const states = new Map<string, MachineRow['state']>();
  const stop = (id: string) => {
    running.splice(running.indexOf(id), 1);
    changes.publish({ type: 'machine_moved', machine_id: id, sprite_id: id, state: 'suspended' });
  };
  const queue = createStartQueue({
    machines: {
      find: async (id) => ({ id, organization_id: 'org', state: states.get(id) ?? 'stopped' }) as MachineRow,
    },
    limits: { freePlaces: async () => limit - running.length },
    machineService: {
      async start(id) {
        await sleep(1);
        if (running.length >= limit) {
          const details = { running_limit: limit, running: running.length };
          throw new RemoraError('concurrent_sprite_limit_exceeded', 'no place', { details });
        }
        running.push(id);
        return { previous_state: 'stopped' };
      },
    },
    async makeRoom() {
      rooms.push(running.length);
      const [first] = running;
      if (!mayRoom || first === undefined) return false;
      stop(first);
      return true;
    },
    changes,
    clock: systemClock,
    wait_ms,
  });
  onTestFinished(() => queue[Symbol.asyncDispose]());
  const start = (id: string, mayMakeRoom: boolean, signal = new AbortController().signal, most_ms?: number) =>
    queue.start(id, { mayMakeRoom, signal, ...(most_ms === undefined ? {} : { most_ms }) });
  return { queue, running, rooms, states, stop, start };
}

test('a start with a place waits for nothing', async () => {
  const { start, running, rooms } = openQueue({ limit: 1, wait_ms: 10_000 });
  await start('a', true);
  expect([running, rooms]).toEqual([['a'], []]);
});

test('a caller whom the organization knows has room made, and nobody else has', async () => {
  const { start, running, rooms, queue } = openQueue({ limit: 1, wait_ms: 10_000 });
  await start('a', true);
  const anonymous = start('b', false, undefined, 300).catch((error: unknown) => error);
  await eventually(() => queue.isAwaited('b'));
  expect(await anonymous).toMatchObject({ code: 'concurrent_sprite_limit_exceeded', details: { running: 1 } });
  expect([running, rooms, queue.isAwaited('b')]).toEqual([['a'], [], false]);
  await start('c', true);
  expect([running, rooms]).toEqual([['c'], [1]]);
});

test('those who wait are started in the order in which they came', async () => {
  const { start, running, stop, queue } = openQueue({ limit: 1, wait_ms: 10_000, mayRoom: false });
  await start('a', true);
  const waiting = ['b', 'c', 'd'].map((id) => start(id, true));
  await eventually(() => queue.isAwaited('d'));
  for (const id of ['a', 'b', 'c']) {
    stop(id);
    await eventually(() => running.length === 1);
    if (id === 'a') expect(running).toEqual(['b']);
  }
  await Promise.all(waiting);
  expect(running).toEqual(['d']);
});

test('one that has its place already waits for none, and another move is carried out once it has one', async () => {
  const { start, queue, states, running, stop } = openQueue({ limit: 1, wait_ms: 10_000, mayRoom: false });
  await start('a', true);
  const moves: string[] = [];
  const move = (id: string) => async () => {
    if (running.length > 0 && states.get(id) === undefined) {
      throw new RemoraError('concurrent_sprite_limit_exceeded', 'no place', { details: { running_limit: 1 } });
    }
    moves.push(id);
    return id;
  };
  const caller = { mayMakeRoom: true, signal: new AbortController().signal };
  const waiting = queue.place('b', caller, move('b'));
  await eventually(() => queue.isAwaited('b'));
  for (const state of ['starting', 'suspending', 'running'] as const) {
    states.set(state, state);
    expect(await queue.place(state, caller, move(state))).toBe(state);
  }
  stop('a');
  expect(await waiting).toBe('b');
  expect(moves).toEqual(['starting', 'suspending', 'running', 'b']);
});

test('one whose caller goes away does not wait any more', async () => {
  const { start, queue } = openQueue({ limit: 1, wait_ms: 10_000, mayRoom: false });
  await start('a', true);
  const gone = new AbortController();
  const waiting = start('b', true, gone.signal);
  await eventually(() => queue.isAwaited('b'));
  gone.abort(new Error('gone'));
  await expect(waiting).rejects.toThrow('gone');
  expect(queue.isAwaited('b')).toBe(false);
});

test('so many wait and no more', async () => {
  const { start, queue } = openQueue({ limit: 0, wait_ms: 30_000, mayRoom: false });
  const all = Array.from({ length: 520 }, (_, index) => start(`m${index}`, false).catch((error: unknown) => error));
  let over = 0;
  for (const each of all) void each.then(() => (over += 1));
  await eventually(() => over === 8);
  await queue[Symbol.asyncDispose]();
  const codes = (await Promise.all(all)).map((error) => (error as RemoraError).code);
  expect(codes.filter((code) => code === 'shutting_down')).toHaveLength(512);
  expect(codes.filter((code) => code === 'concurrent_sprite_limit_exceeded')).toHaveLength(8);
});

test('at a real platform a start, a restart and a launch wait until a sprite is stopped', async () => {
  const platform = await openTestPlatform({ agentCommand: machineCommand(), idle: { startWait_ms: 60_000 } });
  const [one, other] = [await machineOf(platform, 'one'), await machineOf(platform, 'other')];
  await platform.admin.setLimits('acme', { running_limit: 1 });
  expect((await one.post('start')).status).toBe(200);
  const waiting = other.post('start');
  // Its agent is no real one, and nobody knows whether it is at work.
  expect((await one.read()).state).toBe('running');
  expect(await one.stop()).toBe(200);
  expect((await waiting).status).toBe(200);
  const restarting = one.post('restart');
  expect((await one.read()).state).toBe('stopped');
  expect(await other.stop()).toBe(200);
  expect((await restarting).status).toBe(200);
  const restartingSprite = platform.call({ method: 'POST', path: '/v1/sprites/other/restart' });
  expect((await other.read()).state).toBe('stopped');
  expect(await one.stop()).toBe(200);
  expect((await restartingSprite).status).toBe(200);
  const making = platform.call({ method: 'POST', path: '/v1/apps/acme/machines', body: { config: {} } });
  const list = async () => (await platform.call({ path: '/v1/apps/acme/machines' })).json;
  await eventually(async () => (await list()).length === 3);
  expect(await other.stop()).toBe(200);
  expect((await making).status).toBe(200);
});

test('a refusal after the wait has the limit, the count and the time', async () => {
  const platform = await openTestPlatform({
    agentCommand: machineCommand(),
    idle: { startWait_ms: 300, sprite_ms: 200 },
  });
  const [one, other] = [await machineOf(platform, 'one'), await machineOf(platform, 'other')];
  await platform.admin.setLimits('acme', { running_limit: 1 });
  expect((await one.post('start')).status).toBe(200);
  const refused = await other.post('start');
  expect([refused.status, refused.json]).toMatchObject([
    429,
    { error: 'concurrent_sprite_limit_exceeded', limit: 1, current_count: 1, retry_after_seconds: 30 },
  ]);
  const { json } = await platform.call({ path: `${one.path}/idle` });
  expect(json).toMatchObject({
    state: 'running',
    idle: false,
    kept_awake_by: [{ kind: 'agent', reason: 'its agent is not connected' }],
    would_sleep_at: null,
  });
  expect((await one.read()).state).toBe('running');
});
