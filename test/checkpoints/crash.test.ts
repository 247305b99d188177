// A platform that is killed before any step of a checkpoint: the files are the former ones or those that the step makes, and nothing else stays.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { openMachineCheckpoints } from '../support/machine-checkpoints.ts';
import { memoryDir } from '../support/memory-dir.ts';
import { silentLog } from '../support/silent-log.ts';

const child = new URL('../support/checkpoint-child.ts', import.meta.url).pathname;

/** Files and services `one` are kept in v0, `two` are in use. */
async function prepare() {
  const dir = memoryDir();
  const checkpoints = openMachineCheckpoints(dir, silentLog);
  const write = (text: string) => {
    writeFileSync(join(checkpoints.home, 'file'), text);
    writeFileSync(checkpoints.services, JSON.stringify(text));
  };
  write('one');
  writeFileSync(join(checkpoints.home, 'only-one'), '');
  await checkpoints.make('first');
  write('two');
  rmSync(join(checkpoints.home, 'only-one'));
  const act = (...words: readonly string[]) =>
    spawnSync(process.execPath, [child, dir, ...words], { encoding: 'utf8' });
  return { checkpoints, act };
}

type Prepared = Awaited<ReturnType<typeof prepare>>;

async function read({ checkpoints }: Prepared) {
  const names = readdirSync(checkpoints.home).toSorted();
  const file = readFileSync(join(checkpoints.home, 'file'), 'utf8');
  const services = JSON.parse(readFileSync(checkpoints.services, 'utf8'));
  const ids = (await checkpoints.list()).map(({ id, is_healthy }) => [id, is_healthy]);
  return { names, file, services, ids, current: await checkpoints.current() };
}

/** Nothing that is not whole stays, and the links lead to what there is. */
async function expectTidy({ checkpoints }: Prepared) {
  const all = join(checkpoints.machine, 'checkpoints');
  await eventually(() => readdirSync(all).every((name) => !name.startsWith('.')) || undefined);
  const ids = (await checkpoints.list()).map(({ id }) => id);
  expect(readdirSync(join(checkpoints.machine, 'recent-checkpoints')).toSorted()).toEqual(ids);
  expect(readdirSync(checkpoints.machine).toSorted()).toEqual(['checkpoints', 'home', 'recent-checkpoints', 'state']);
}

const one = { names: ['file', 'only-one'], file: 'one', services: 'one' };
const two = { names: ['file'], file: 'two', services: 'two' };

const makeSteps = [
  'copy the files',
  'copy what stands still',
  'write the files to the disk',
  'write the record',
  'take the number',
  'name the checkpoint',
  'stand on the checkpoint',
  'renew the links',
];
const restoreSteps = [
  'copy the files of the checkpoint',
  'write the copy to the disk',
  'begin the restore',
  'set the files aside',
  'put the copy in place',
  'put the services back',
  'end the restore',
];
const removeSteps = ['take the name of the checkpoint', 'remove the files of the checkpoint'];

test('these are all steps', async () => {
  const prepared = await prepare();
  const steps = (action: string) => prepared.act(action).stdout.trim().split('\n');
  expect(steps('make')).toEqual(makeSteps);
  expect(steps('restore')).toEqual(restoreSteps);
  expect(steps('remove')).toEqual(removeSteps);
});

test.each(makeSteps)('killed while one is made, before: %s', async (step) => {
  const prepared = await prepare();
  expect(prepared.act('make', step).signal).toBe('SIGKILL');
  await prepared.checkpoints.recover();
  const isMade = makeSteps.indexOf(step) >= makeSteps.indexOf('stand on the checkpoint');
  const ids = isMade ? ['v0', 'v1'] : ['v0'];
  expect(await read(prepared)).toEqual({ ...two, ids: ids.map((id) => [id, true]), current: ids.at(-1) });
  await expectTidy(prepared);
  const { id, source_id } = await prepared.checkpoints.make();
  expect(source_id).toBe(ids.at(-1));
  // A number that was taken is not used again, even where its checkpoint was not made.
  expect(['v1', 'v2']).toContain(id);
  expect(ids).not.toContain(id);
});

test.each(restoreSteps)('killed while one is restored, before: %s', async (step) => {
  const prepared = await prepare();
  expect(prepared.act('restore', step).signal).toBe('SIGKILL');
  await prepared.checkpoints.recover();
  const isBegun = restoreSteps.indexOf(step) > restoreSteps.indexOf('begin the restore');
  expect(await read(prepared)).toEqual({ ...(isBegun ? one : two), ids: [['v0', true]], current: 'v0' });
  await expectTidy(prepared);
});

test.each(removeSteps)('killed while one is removed, before: %s', async (step) => {
  const prepared = await prepare();
  await prepared.checkpoints.make('second');
  expect(prepared.act('remove', step).signal).toBe('SIGKILL');
  await prepared.checkpoints.recover();
  const ids = step === removeSteps[0] ? ['v0', 'v1'] : ['v1'];
  expect(await read(prepared)).toEqual({ ...two, ids: ids.map((id) => [id, true]), current: 'v1' });
  await expectTidy(prepared);
});
