// A virtual machine on a host whose disk is full, which is a small one of its own: what it is told, and that nothing of it is lost.
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { loudly } from '../support/loudly.ts';
import { LIMIT_MS, openSmallMachine, type SmallMachine, smallSpec as spec } from '../support/vm/small-machine.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const FULL = { code: 'storage_full' };
/** The memory of the machine, its image, and what the tests write. */
const DISK = 'size=360m,mode=0755';

function canMount(): boolean {
  return spawnSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0;
}

const isSkipped =
  isWithoutMachines() || loudly(!canMount(), 'no full disk is tried, for want of the right to mount one');

describe.skipIf(isSkipped)('on a full disk a virtual machine', () => {
  let disk: string;
  let machine: SmallMachine;

  /** Leaves no byte. */
  const fill = () => spawnSync('dd', ['if=/dev/zero', `of=${join(disk, 'filler')}`, 'bs=64k'], { stdio: 'ignore' });
  const free = () => rmSync(join(disk, 'filler'), { force: true });
  const make = () =>
    machine.driver.checkpoints.make('m1', {
      is_auto: false,
      signal: new AbortController().signal,
      onProgress: () => undefined,
      takeTurn: (step) => step(),
    });

  beforeAll(async () => {
    disk = mkdtempSync('/var/tmp/remora-full-');
    execFileSync('mount', ['-t', 'tmpfs', '-o', DISK, 'remora-test', disk]);
    mkdirSync(join(disk, 'machines'));
    machine = await openSmallMachine({}, join(disk, 'machines'));
  });

  afterEach(free);

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });

  test('is not suspended, says so, and runs on', async () => {
    // What it writes out before a suspend has its room on the disk by then.
    await machine.world.ask('note room', 'noted/');
    const before = await machine.world.tick();
    fill();
    await expect(machine.driver.suspend('m1')).rejects.toMatchObject(FULL);
    expect(machine.exits).toEqual([]);
    expect(machine.driver.state('m1')).toBe('running');
    expect(await machine.world.tick()).toBeGreaterThan(before);
    free();
    await machine.driver.suspend('m1');
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
  });

  test('is not continued, and keeps its memory until there is room', async () => {
    const before = await machine.world.tick();
    await machine.driver.suspend('m1');
    fill();
    await expect(machine.driver.resume(spec)).rejects.toMatchObject(FULL);
    expect(machine.driver.state('m1')).toBe('suspended');
    free();
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    expect(await machine.world.tick()).toBeGreaterThan(before);
  });

  test('gets no checkpoint, and runs on', async () => {
    await machine.world.ask('note room', 'noted/');
    fill();
    await expect(make()).rejects.toMatchObject(FULL);
    expect(machine.exits).toEqual([]);
    await machine.world.tick();
    expect(await machine.driver.checkpoints.list('m1')).toEqual([]);
    free();
    expect((await make()).is_healthy).toBe(true);
  });

  test('that writes stands still, and goes on when there is room, also under the next platform', async () => {
    for (const isLeft of [false, true]) {
      machine.lines.length = 0;
      fill();
      const written = machine.world.ask('write big 16', 'written/big/');
      const stands = () => machine.lines.some((line) => /is full: the machine stands still/.test(line));
      await eventually(stands, LIMIT_MS);
      expect(machine.driver.state('m1')).toBe('running');
      if (isLeft) {
        await machine.driver[Symbol.asyncDispose]();
        machine.lines.length = 0;
        expect((await machine.openDriver())[0]?.state).toBe('running');
        await eventually(stands, LIMIT_MS);
      }
      free();
      expect(await written).toMatch(/^[0-9a-f]{32}$/);
      await eventually(
        () => machine.lines.some((line) => /there is room .* again: the machine goes on/.test(line)),
        LIMIT_MS,
      );
    }
  });

  test('is not started', async () => {
    await machine.driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 30_000 });
    fill();
    await expect(machine.driver.start(spec)).rejects.toMatchObject(FULL);
    expect(machine.driver.state('m1')).toBe('stopped');
    free();
    await machine.boot();
  });
});
