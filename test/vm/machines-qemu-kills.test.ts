// A virtual machine whose emulator or platform is killed at each step of each move: what is left of it, and that it goes on from there.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { signalRunning } from '../support/signal-running.ts';
import { KILL, LIMIT_MS, openSmallMachine, type SmallMachine, smallSpec as spec } from '../support/vm/small-machine.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

describe.skipIf(isWithoutMachines())('a virtual machine', () => {
  let machine: SmallMachine;

  beforeAll(async () => {
    machine = await openSmallMachine();
  });

  afterEach(async ({ task }) => {
    // What a test that has failed left behind is no affair of the next one.
    if (task.result?.state === 'fail') {
      await machine.openDriver();
      await machine.driver.stop('m1', KILL);
      await machine.boot();
    }
    machine.exits.length = 0;
  });

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  test.each([
    ['pause the machine', 'running'],
    ['save the state', 'running'],
    ['write the memory to the disk', 'running'],
    ['sum the memory', 'running'],
    ['write the description', 'running'],
    ['the snapshot counts', 'suspended'],
    ['end the emulator', 'suspended'],
  ])('is whole when the platform is killed in its suspend before: %s', async (step, state) => {
    const before = await machine.world.tick();
    expect(await machine.moveInProcess('suspend', step, 'platform')).toBeUndefined();
    expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state }]);
    if (state === 'suspended') expect(await machine.driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await machine.world.tick()).toBeGreaterThan(before);
  });

  test.each([
    ['check the snapshot', 'suspended'],
    ['start the emulator', 'suspended'],
    ['remove the description', 'running'],
    ['continue the machine', 'running'],
  ])('is whole when the platform is killed in its resume before: %s', async (step, state) => {
    const before = await machine.world.tick();
    await machine.driver.suspend('m1');
    expect(await machine.moveInProcess('resume', step, 'platform')).toBeUndefined();
    expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state }]);
    if (state === 'suspended') expect(await machine.driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await machine.world.tick()).toBeGreaterThan(before);
  });

  const failed = { outcome: 'failed', state: 'stopped' };
  const done = { outcome: 'done', state: 'suspended' };
  test.each([
    ['save the state', [failed]],
    // All of its memory is in the file by then: it counts, unless the end of the emulator is seen first.
    ['sum the memory', [failed, done]],
    ['end the emulator', [done]],
  ])('whose emulator is killed in its suspend before: %s', async (step, outcomes) => {
    await machine.world.ask('note killed', 'noted/');
    const outcome = await machine.moveInProcess('suspend', step, 'emulator');
    expect(outcomes).toContainEqual(outcome);
    const isSuspended = JSON.stringify(outcome) === JSON.stringify(done);
    const [found] = await machine.openDriver();
    expect(found?.state).toBe(isSuspended ? 'suspended' : 'over');
    if (!isSuspended) await machine.boot();
    else expect(await machine.driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await machine.world.ask('read', 'note/')).toBe('killed');
  });

  test('whose emulator ends while it runs has ended, and is found so by the next platform', async () => {
    signalRunning(machine.pid(), 'SIGKILL');
    await eventually(() => machine.exits.length === 1, LIMIT_MS);
    expect(machine.exits[0]?.exit_code).toBeNull();
    expect(machine.driver.state('m1')).toBe('stopped');
    await machine.driver[Symbol.asyncDispose]();
    expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state: 'over' }]);
    await machine.boot();
  });

  test.each([
    ['remove the description', { outcome: 'discarded', state: 'stopped' }],
    ['continue the machine', { outcome: 'discarded', state: 'stopped' }],
  ])('whose emulator is killed in its resume before: %s, is %o', async (step, outcome) => {
    await machine.world.ask(`note ${step.split(' ')[0]}`, 'noted/');
    await machine.driver.suspend('m1');
    expect(await machine.moveInProcess('resume', step, 'emulator')).toEqual(outcome);
    expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state: 'over' }]);
    expect(existsSync(machine.files.memory)).toBe(false);
    await machine.boot();
    expect(await machine.world.ask('read', 'note/')).toBe(step.split(' ')[0]);
  });

  test.each([
    ['start the emulator', 'platform', 'over'],
    ['open the way to the platform', 'platform', 'running'],
    ['open the way to the platform', 'emulator', 'over'],
  ] as const)('that is started: before "%s" the %s is killed; it is %s', async (step, victim, state) => {
    await machine.driver.stop('m1', KILL);
    const said = await machine.moveInProcess('start', step, victim);
    if (victim === 'emulator') expect(said).toEqual({ outcome: 'failed', state: 'stopped' });
    expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state }]);
    if (state === 'running') await machine.world.tick();
    else await machine.boot();
  });

  test.each(['ask the machine to end', 'end the emulator'])(
    'runs on when the platform is killed in its stop before: %s',
    async (step) => {
      const before = await machine.world.tick();
      expect(await machine.moveInProcess(step.startsWith('ask') ? 'stop' : 'kill', step, 'platform')).toBeUndefined();
      expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state: 'running' }]);
      expect(await machine.world.tick()).toBeGreaterThan(before);
    },
  );

  test.each([
    ['checkpoint', 'freeze the disk', 0],
    ['checkpoint', 'write the record', 0],
    ['checkpoint', 'none', 1],
    ['restore', 'put the disk in place', 1],
  ])(
    'that is suspended: the platform is killed in its %s before "%s": it has %i checkpoints',
    async (move, step, count) => {
      const before = await machine.world.tick();
      await machine.driver.suspend('m1');
      await machine.moveInProcess(move, step, 'platform');
      expect(await machine.openDriver()).toEqual([{ id: 'm1', instance_id: spec.instance_id, state: 'suspended' }]);
      expect(await machine.driver.checkpoints.list('m1')).toHaveLength(count);
      expect(existsSync(join(machine.files.dir, 'restore.qcow2'))).toBe(false);
      expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
      expect(await machine.world.tick()).toBeGreaterThan(before);
    },
  );
});
