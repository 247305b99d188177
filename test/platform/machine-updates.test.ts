// The steps of an update in their order, and what is left when one of them fails.
import { expect, test } from 'vitest';
import { createKeyedMutex } from '../../src/core/keyed-mutex.ts';
import { createUpdates, type UpdatesDeps } from '../../src/platform/machines/moves/machine-updates.ts';
import type { MachineRow } from '../../src/platform/machines/records/machine-row.ts';

const base = { id: 'm1', version: 'v1', instance_id: 'i1', wanted: 'running', discarded: null };

function toUpdates(state: MachineRow['state'], fails?: 'check' | 'end' | 'store' | 'start') {
  const steps: string[] = [];
  const row = { ...base, state, wanted: state === 'stopped' ? 'stopped' : 'running' } as unknown as MachineRow;
  const step = (name: string, said = name) => {
    steps.push(said);
    if (fails === name) throw new Error(`${name} failed`);
  };
  const deps = {
    machines: { find: async () => row },
    records: { movableRow: async () => row },
    starts: { startNow: async () => step('start') },
    stops: { endNow: async (_id: string, wanted: string) => step('end', `end, to be ${wanted}`) },
    snapshots: { drop: async (_row: MachineRow, cause: string) => step('drop', `drop for ${cause}`) },
    driver: { checkConfig: () => undefined, signal: async () => undefined },
    mutex: createKeyedMutex(),
  };
  const updates = createUpdates(deps as unknown as UpdatesDeps);
  const update = (options: { expected?: string; skipLaunch?: boolean } = {}) =>
    updates.update('m1', {
      expected: options.expected,
      skipLaunch: options.skipLaunch ?? false,
      check: async () => step('check'),
      store: async () => step('store'),
    });
  return { steps, update };
}

test.each([
  ['running', {}, ['check', 'end, to be running', 'store', 'start']],
  ['starting', {}, ['check', 'end, to be running', 'store', 'start']],
  ['suspending', {}, ['check', 'end, to be running', 'store', 'start']],
  ['running', { skipLaunch: true }, ['check', 'end, to be stopped', 'store']],
  ['suspended', {}, ['check', 'drop for deploy', 'store']],
  ['stopped', {}, ['check', 'store']],
] as const)('of a machine that is %s, %j', async (state, options, expected) => {
  const { steps, update } = toUpdates(state);
  await update(options);
  expect(steps).toEqual(expected);
});

test.each([
  ['check', ['check']],
  ['end', ['check', 'end, to be running']],
  // Nothing new is stored, so what starts is the old version.
  ['store', ['check', 'end, to be running', 'store', 'start']],
  ['start', ['check', 'end, to be running', 'store', 'start']],
] as const)('that fails at its %s step', async (fails, expected) => {
  const { steps, update } = toUpdates('running', fails);
  await expect(update()).rejects.toThrow(`${fails} failed`);
  expect(steps).toEqual(expected);
});

test('of another version than the expected one does nothing', async () => {
  const { steps, update } = toUpdates('running');
  await expect(update({ expected: 'v0' })).rejects.toThrow(/another version/);
  expect(steps).toEqual([]);
  await update({ expected: 'v1' });
  await update({ expected: 'i1' });
});
