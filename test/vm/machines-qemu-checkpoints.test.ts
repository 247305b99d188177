// Checkpoints of a virtual machine whose system is one shell script: made while it runs, is suspended or does not run, and what is left of one
// after a failure at each step.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { KILL, openSmallMachine, type SmallMachine, smallSpec as spec } from '../support/vm/small-machine.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

describe.skipIf(isWithoutMachines())('checkpoints of a virtual machine', () => {
  let machine: SmallMachine;

  beforeAll(async () => {
    machine = await openSmallMachine();
  });

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  const make = (comment: string) =>
    machine.driver.checkpoints.make('m1', {
      comment,
      is_auto: false,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      takeTurn: (step) => step(),
    });
  const restore = async (id: string) => {
    const work = { signal: new AbortController().signal, onProgress: () => undefined };
    await using prepared = await machine.driver.checkpoints.prepareRestore('m1', id, work);
    await machine.driver.stop('m1', KILL);
    await prepared.putInPlace();
  };

  test('are made while it is suspended and while it does not run; each is what it was', async () => {
    await machine.world.ask('note first', 'noted/');
    await machine.driver.suspend('m1');
    expect(await make('suspended')).toMatchObject({ id: 'v0', comment: 'suspended', is_healthy: true });
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    await machine.world.ask('note second', 'noted/');
    await machine.world.tick();
    await machine.driver.suspend('m1');
    await make('suspended');
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    expect(await machine.world.ask('read', 'note/')).toBe('second');
    await machine.world.ask('note third', 'noted/');
    await machine.driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 60_000 });
    await make('stopped');
    expect((await machine.driver.checkpoints.list('m1')).map(({ id, source_id }) => [id, source_id])).toEqual([
      ['v0', undefined],
      ['v1', 'v0'],
      ['v2', 'v1'],
    ]);
    for (const [id, note] of [
      ['v0', 'first'],
      ['v2', 'third'],
    ] as const) {
      await restore(id);
      expect(await machine.driver.checkpoints.current('m1')).toBe(id);
      await machine.boot();
      expect(await machine.world.ask('read', 'note/')).toBe(note);
    }
  });

  test('that are deleted go with what lies on them, and their numbers are never used again', async () => {
    await machine.driver.checkpoints.remove('m1', 'v1');
    expect(existsSync(join(machine.files.dir, 'v1.qcow2'))).toBe(true);
    await restore('v0');
    await machine.driver.checkpoints.remove('m1', 'v2');
    expect(existsSync(join(machine.files.dir, 'v1.qcow2'))).toBe(false);
    expect(existsSync(join(machine.files.dir, 'v2.qcow2'))).toBe(false);
    expect((await make('after')).id).toBe('v3');
    await expect(machine.driver.checkpoints.remove('m1', 'v1')).rejects.toMatchObject({ code: 'not_found' });
    await machine.boot();
    expect(await machine.world.ask('read', 'note/')).toBe('first');
  });

  test('are made while it runs, and it goes on, is suspended and goes on again', async () => {
    await machine.world.ask('note live', 'noted/');
    const before = await machine.world.tick();
    // Neither has it written this to its disk, nor has it the moment when the copy begins.
    await machine.world.ask('jot unwritten', 'noted/');
    machine.world.order('churn');
    const pid = machine.pid();
    const first = await make('while it runs');
    expect(first.is_healthy).toBe(true);
    expect(await machine.driver.checkpoints.current('m1')).toBe(first.id);
    expect(machine.pid()).toBe(pid);
    await machine.world.ask('note later', 'noted/');
    const second = await make('again');
    expect(second.source_id).toBe(first.id);
    expect(readdirSync(machine.files.dir)).not.toContain('copy.qcow2');
    await machine.driver.suspend('m1');
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    await make('after a suspend');
    expect(await machine.world.tick()).toBeGreaterThan(before);
    for (const [id, note] of [
      [second.id, 'later'],
      [first.id, 'unwritten'],
    ] as const) {
      await restore(id);
      expect(await machine.driver.checkpoints.current('m1')).toBe(id);
      await machine.boot();
      expect(await machine.world.ask('read', 'note/')).toBe(note);
    }
  });

  test.each([
    ['make a disk for the copy', 'platform', false],
    ['copy the disk', 'platform', false],
    ['take the copy from the emulator', 'platform', false],
    ['name the copy', 'platform', false],
    ['write the record', 'platform', false],
    ['copy the disk', 'emulator', false],
    ['take the copy from the emulator', 'emulator', false],
    ['name the copy', 'emulator', true],
  ] as const)('before "%s" the %s is killed: it is there whole or not at all: %s', async (step, victim, isThere) => {
    const before = await machine.driver.checkpoints.list('m1');
    await machine.world.ask(`note ${victim}`, 'noted/');
    await machine.moveInProcess('checkpoint', step, victim);
    const [found] = await machine.openDriver();
    expect(found?.state).toBe(victim === 'platform' ? 'running' : 'over');
    const after = await machine.driver.checkpoints.list('m1');
    expect(after.length - before.length).toBe(isThere ? 1 : 0);
    expect(after.every(({ is_healthy }) => is_healthy)).toBe(true);
    expect(readdirSync(machine.files.dir)).not.toContain('copy.qcow2');
    if (victim === 'platform') await machine.world.tick();
    else await machine.boot();
    expect(await machine.world.ask('read', 'note/')).toBe(victim);
    const next = await make('after it');
    expect(Number(next.id.slice(1))).toBeGreaterThan(Number(after.at(-1)?.id.slice(1)));
    // What a copy that was given up has left is gone, and what others lie on is not.
    const records = new Set((await machine.driver.checkpoints.list('m1')).map(({ id }) => `${id}.qcow2`));
    const frozen = readdirSync(machine.files.dir).filter((name) => /^v\d+\.qcow2$/.test(name));
    expect(frozen.filter((name) => !records.has(name))).toEqual([]);
  });
});
