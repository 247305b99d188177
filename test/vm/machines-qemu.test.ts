// The driver of virtual machines, with a machine whose system is one shell script: what it reaches, and that nothing of it is lost.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { readVariable } from '../../src/linux/processes/process-table.ts';
import { capLog } from '../../src/platform/machines/drivers/qemu/cap-log.ts';
import { readNote } from '../../src/platform/machines/drivers/qemu/machine-note.ts';
import { eventually } from '../support/eventually.ts';
import { KILL, LIMIT_MS, openSmallMachine, type SmallMachine, smallSpec as spec } from '../support/vm/small-machine.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

/** The last one, and the file keeps its size. */
function changeByte(path: string): void {
  const at = statSync(path).size - 1;
  const file = openSync(path, 'r+');
  const byte = Buffer.alloc(1);
  readSync(file, byte, 0, 1, at);
  writeSync(
    file,
    byte.map((value) => value ^ 1),
    0,
    1,
    at,
  );
  closeSync(file);
}

describe.skipIf(isWithoutMachines())('a virtual machine', () => {
  let machine: SmallMachine;

  beforeAll(async () => {
    machine = await openSmallMachine();
  });

  afterEach(() => {
    machine.exits.length = 0;
  });

  afterAll(async () => {
    await machine?.[Symbol.asyncDispose]();
  });

  test('has its token and its variables, and neither is in the arguments or the environment of its emulator', () => {
    expect(machine.world.told).toContain('boot/1//remora_tok');
    const pid = machine.pid();
    const arguments_ = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    expect(arguments_).not.toContain('remora_tok');
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('remora_tok');
    expect(readVariable(pid ?? 0, 'REMORA_EMULATOR_OF')).toBe(spec.instance_id);
    expect(statSync(join(machine.files.credentials, 'remora-token')).mode & 0o777).toBe(0o600);
    expect(machine.driver.lastLines('m1')).toContain('console of m1');
  });

  test('is run by a user of its own, without a right', () => {
    const status = readFileSync(`/proc/${machine.pid()}/status`, 'utf8');
    const { uid } = readNote(machine.files.dir) ?? {};
    expect(uid).toBeGreaterThan(0);
    expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    const network = (pid: number | string) => execFileSync('readlink', [`/proc/${pid}/ns/net`], { encoding: 'utf8' });
    expect(network(machine.pid())).not.toBe(network('self'));
  });

  test('reaches the platform, and nothing else', async () => {
    const port = new URL(machine.world.url).port;
    const own = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
    const places = [`10.77.0.1 ${port}`, '169.254.169.254 80', '10.77.0.3 53', ...(own ? [`${own} ${port}`] : [])];
    for (const place of places) {
      const [host, number] = place.split(' ');
      expect(await machine.world.ask(`reach ${place}`, `reached/${host}/${number}/`)).toBe('closed');
    }
    expect(await machine.world.ask('reach 10.77.0.1 4180', 'reached/10.77.0.1/4180/')).toBe('open');
  });

  test('is suspended into files, gives its memory back, and goes on from where it was', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = await machine.world.tick();
      const pid = machine.pid();
      await machine.driver.suspend('m1');
      expect(machine.driver.state('m1')).toBe('suspended');
      expect(existsSync(`/proc/${pid}`)).toBe(false);
      expect(existsSync(machine.files.manifest)).toBe(true);
      expect(await machine.driver.resume(spec)).toEqual({ outcome: 'resumed' });
      // A machine that writes into its memory has no snapshot.
      expect(existsSync(machine.files.manifest)).toBe(false);
      expect(await machine.world.tick()).toBeGreaterThan(before);
    }
    expect(machine.world.told.filter((path) => path.startsWith('boot/'))).toHaveLength(1);
    expect(machine.exits).toEqual([]);
  });

  test('counts with its whole memory while it is suspended', async () => {
    await machine.driver.suspend('m1');
    await expect(machine.driver.start({ ...spec, id: 'm2', memory_mb: 161 })).rejects.toMatchObject({
      code: 'insufficient_memory',
      details: { memory_mb: 161, free_mb: 160, total_mb: 256 },
    });
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    await machine.world.tick();
  });

  test.each<[string, string, () => unknown]>([
    ['lost', 'without its description', () => rmSync(machine.files.manifest)],
    ['corrupted', 'with a state cut short', () => truncateSync(machine.files.state, 1_000)],
    ['corrupted', 'with a memory cut short', () => truncateSync(machine.files.memory, 50_000_000)],
    // Its emulator runs already when this is found.
    ['corrupted', 'with a byte of its memory changed', () => changeByte(machine.files.memory)],
    [
      'maintenance',
      'of another emulator',
      () => {
        const { snapshot } = JSON.parse(readFileSync(machine.files.manifest, 'utf8'));
        const other = { ...snapshot, emulator: 'QEMU emulator version 5.2' };
        return import('../../src/platform/machines/drivers/qemu/snapshots/snapshot-manifest.ts').then((module) =>
          module.writeSnapshotManifest(machine.files, other),
        );
      },
    ],
  ])('whose snapshot is %s, %s, boots with its disk as it was', async (cause, _, harm) => {
    await machine.world.ask(`note ${cause}`, 'noted/');
    await machine.driver.suspend('m1');
    await harm();
    expect(await machine.driver.resume(spec)).toEqual({ outcome: 'discarded', cause });
    expect(machine.driver.state('m1')).toBe('stopped');
    expect(existsSync(machine.files.memory)).toBe(false);
    await machine.boot();
    expect(await machine.world.ask('read', 'note/')).toBe(cause);
  });

  test('that powers itself off has ended well, and one that restarts itself has not', async () => {
    for (const [word, exit_code] of [
      ['exit', 0],
      ['reboot', 1],
    ] as const) {
      machine.exits.length = 0;
      machine.world.order(word);
      await eventually(() => machine.exits.length === 1, LIMIT_MS);
      expect(machine.exits).toEqual([{ exit_code, signal: null }]);
      await machine.boot();
    }
  });

  test('is asked to end at a stop, and its disk is the same one after it', async () => {
    await machine.world.ask('note stopped', 'noted/');
    await machine.driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 60_000 });
    expect(machine.exits).toEqual([{ exit_code: 0, signal: null }]);
    expect(existsSync(machine.files.memory)).toBe(false);
    await machine.boot();
    expect(await machine.world.ask('read', 'note/')).toBe('stopped');
  });

  test('that answers nothing is suspended and stopped all the same', async () => {
    await machine.world.ask('deaf', 'deafened');
    await machine.driver.suspend('m1');
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    await machine.world.tick();
    await machine.driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 1_000 });
    expect(machine.exits).toEqual([{ exit_code: 0, signal: null }]);
    await machine.boot();
  });

  test('goes on printing at the beginning of a log that was cut', async () => {
    const log = join(machine.files.dir, 'agent.log');
    expect(machine.driver.lastLines('m1')).toContain('console of m1');
    await capLog(log, 0);
    await machine.world.ask('print hello', 'printed/');
    expect(readFileSync(log, 'utf8').trim()).toBe('hello');
    expect(readFileSync(`${log}.1`, 'utf8')).toContain('console of m1');
  });

  test('fills its own disk, and gets the error of that itself', async () => {
    expect(await machine.world.ask('fill', 'filled/')).toBe('1');
    expect(machine.lines.filter((line) => line.includes('full'))).toEqual([]);
  });

  test('is not continued on a host with less memory than it has, and is then still suspended', async () => {
    await machine.driver.suspend('m1');
    await machine.driver[Symbol.asyncDispose]();
    await machine.openDriver({ hostMemory_mb: 64 });
    await expect(machine.driver.resume(spec)).rejects.toMatchObject({ code: 'insufficient_memory' });
    expect(machine.driver.state('m1')).toBe('suspended');
    await machine.driver[Symbol.asyncDispose]();
    await machine.openDriver();
    expect((await machine.driver.resume(spec)).outcome).toBe('resumed');
    await machine.world.tick();
  });

  test('begins with the disk of its image where a stop resets it, and keeps its volumes', async () => {
    await machine.driver.volumes.make('vol_1', 1);
    const more = { resetsRoot: true, volumes: [{ id: 'vol_1', path: '/data' }] };
    for (const volumeBoots of [1, 2]) {
      await machine.driver.stop('m1', KILL);
      await machine.boot(more);
      expect(machine.world.told.findLast((path) => path.startsWith('boot/'))).toBe(`boot/1/${volumeBoots}/remora_tok`);
      // What a machine has written to a disk is there after a power cut once it was synced.
      await machine.world.ask('note x', 'noted/');
      await machine.driver.suspend('m1');
      expect((await machine.driver.resume({ ...spec, ...more })).outcome).toBe('resumed');
      expect(await machine.world.ask('write x 1', 'written/x/')).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  test('that finds no image, or one that is none, does not start, and says which there are', async () => {
    await machine.driver.stop('m1', KILL);
    const more = { resetsRoot: true, config: { image: 'none-such' } };
    await expect(machine.driver.start({ ...spec, ...more })).rejects.toThrow(
      /there is no image none-such on this host; there are: small/,
    );
    mkdirSync(join(machine.imagesDir, 'broken'));
    for (const file of ['kernel', 'initrd', 'base.qcow2'])
      writeFileSync(join(machine.imagesDir, 'broken', file), 'nothing');
    const manifest = JSON.parse(readFileSync(join(machine.imagesDir, 'small/manifest.json'), 'utf8'));
    writeFileSync(join(machine.imagesDir, 'broken/manifest.json'), JSON.stringify({ ...manifest, name: 'broken' }));
    await expect(machine.driver.start({ ...spec, resetsRoot: true, config: { image: 'broken' } })).rejects.toThrow();
    expect(machine.driver.state('m1')).toBe('stopped');
    rmSync(join(machine.imagesDir, 'broken'), { recursive: true });
    await machine.boot({ resetsRoot: true });
  });
});
