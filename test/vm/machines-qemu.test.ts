// The driver of virtual machines, with a machine whose system is one shell script: what it reaches, that nothing of it is lost, and what
// is left after a failure at each step.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { Secret } from '../../src/core/secret.ts';
import { readVariable } from '../../src/linux/processes/process-table.ts';
import type { InstanceEnd, MachineDriver, MachineSpec } from '../../src/platform/machines/drivers/machine-driver.ts';
import { MachineFiles } from '../../src/platform/machines/drivers/qemu/machine-files.ts';
import { readNote } from '../../src/platform/machines/drivers/qemu/machine-note.ts';
import { createQemuDriver } from '../../src/platform/machines/drivers/qemu/qemu-driver.ts';
import { eventually } from '../support/eventually.ts';
import { makeSmallImage } from '../support/vm/small-image.ts';
import { openSmallWorld, type SmallWorld } from '../support/vm/small-world.ts';
import { isWithoutMachines } from '../support/vm/vm-image.ts';

const LIMIT_MS = 120_000;
const KILL = { signal: 'SIGKILL', timeout_ms: 0 } as const;
const spec: MachineSpec = {
  id: 'm1',
  app: 'acme',
  instance_id: 'i1',
  region: 'local',
  private_ip: 'fdaa::1',
  memory_mb: 96,
  sprite: 'web',
  config: {},
  environment: {},
  volumes: [],
  resetsRoot: false,
};

describe.skipIf(isWithoutMachines())('a virtual machine', () => {
  let dir: string;
  let imagesDir: string;
  let world: SmallWorld;
  let driver: MachineDriver;
  let exits: InstanceEnd[];
  let files: MachineFiles;
  const lines: string[] = [];

  const optionsOf = () => ({
    dir: join(dir, 'machines'),
    volumesDir: join(dir, 'volumes'),
    imagesDir,
    accel: 'tcg' as const,
    hostMemory_mb: 256,
    endMachines: false,
  });
  const log = (_: object, message: string) => void lines.push(message);

  async function openDriver() {
    driver = createQemuDriver({
      ...optionsOf(),
      machinesUrl: () => world.url,
      createToken: async () => new Secret('remora_tok'),
      log: { debug: () => undefined, info: log, warn: log, error: log },
    });
    driver.onExit(async (_, end) => void exits.push(end));
    return await driver.findInstances();
  }

  const pidOf = () => readNote(files.dir)?.pid;
  const boot = async (more: Partial<MachineSpec> = {}) => {
    await driver.start({ ...spec, ...more });
    await world.tick();
  };

  /** Runs a move in a process that kills itself, or the emulator, at a step. Undefined when it has killed itself. */
  async function moveInProcess(move: string, step: string, victim: string) {
    await driver[Symbol.asyncDispose]();
    const script = new URL('../support/vm/qemu-driver-process.ts', import.meta.url).pathname;
    const options = JSON.stringify({ ...optionsOf(), url: world.url });
    const child = spawn(process.execPath, [script, options, JSON.stringify(spec), move, step, victim], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
    return said === '' ? undefined : JSON.parse(said);
  }

  beforeAll(async () => {
    dir = mkdtempSync('/var/tmp/remora-qemu-');
    imagesDir = await makeSmallImage(dir);
    world = await openSmallWorld();
    exits = [];
    files = new MachineFiles(join(dir, 'machines/m1'));
    await openDriver();
    await boot();
  });

  afterEach(() => {
    exits.length = 0;
  });

  afterAll(async () => {
    await driver?.stop('m1', KILL);
    await driver?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
    rmSync(dir, { recursive: true, force: true });
  });

  test('has its token and its variables, and neither is in the arguments or the environment of its emulator', () => {
    expect(world.told).toContain('boot/1//remora_tok');
    const pid = pidOf();
    const arguments_ = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
    expect(arguments_).not.toContain('remora_tok');
    expect(readFileSync(`/proc/${pid}/environ`, 'latin1')).not.toContain('remora_tok');
    expect(readVariable(pid ?? 0, 'REMORA_EMULATOR_OF')).toBe('i1');
    expect(statSync(join(files.credentials, 'remora-token')).mode & 0o777).toBe(0o600);
    expect(driver.lastLines('m1')).toContain('console of m1');
  });

  test('is run by a user of its own, without a right', () => {
    const status = readFileSync(`/proc/${pidOf()}/status`, 'utf8');
    const { uid } = readNote(files.dir) ?? {};
    expect(uid).toBeGreaterThan(0);
    expect(status).toMatch(new RegExp(`^Uid:\t${uid}\t${uid}\t${uid}\t${uid}$`, 'm'));
    expect(status).toMatch(/^Groups:\s*$/m);
    expect(status).toMatch(/^CapEff:\t0+$/m);
    expect(status).toMatch(/^CapBnd:\t0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\t1$/m);
    expect(status).toMatch(/^Seccomp:\t2$/m);
    const network = (pid: number | string) => execFileSync('readlink', [`/proc/${pid}/ns/net`], { encoding: 'utf8' });
    expect(network(pidOf() ?? 0)).not.toBe(network('self'));
  });

  test('reaches the platform, and nothing else', async () => {
    const port = new URL(world.url).port;
    const own = Object.values(networkInterfaces())
      .flat()
      .find((each) => each?.family === 'IPv4' && !each.internal)?.address;
    const places = [`10.77.0.1 ${port}`, '169.254.169.254 80', '10.77.0.3 53', ...(own ? [`${own} ${port}`] : [])];
    for (const place of places) {
      const [host, number] = place.split(' ');
      expect(await world.ask(`reach ${place}`, `reached/${host}/${number}/`)).toBe('closed');
    }
    expect(await world.ask('reach 10.77.0.1 4180', 'reached/10.77.0.1/4180/')).toBe('open');
  });

  test('is suspended into files, gives its memory back, and goes on from where it was', async () => {
    for (let round = 0; round < 3; round += 1) {
      const before = await world.tick();
      const pid = pidOf();
      await driver.suspend('m1');
      expect(driver.state('m1')).toBe('suspended');
      expect(existsSync(`/proc/${pid}`)).toBe(false);
      expect(existsSync(files.manifest)).toBe(true);
      expect(await driver.resume(spec)).toEqual({ outcome: 'resumed' });
      // A machine that writes into its memory has no snapshot.
      expect(existsSync(files.manifest)).toBe(false);
      expect(await world.tick()).toBeGreaterThan(before);
    }
    expect(world.told.filter((path) => path.startsWith('boot/'))).toHaveLength(1);
    expect(exits).toEqual([]);
  });

  test('counts with its whole memory while it is suspended', async () => {
    await driver.suspend('m1');
    await expect(driver.start({ ...spec, id: 'm2', memory_mb: 161 })).rejects.toMatchObject({
      code: 'insufficient_memory',
      details: { memory_mb: 161, free_mb: 160, total_mb: 256 },
    });
    expect((await driver.resume(spec)).outcome).toBe('resumed');
    await world.tick();
  });

  test.each<[string, string, () => unknown]>([
    ['lost', 'without its description', () => rmSync(files.manifest)],
    ['corrupted', 'with a state cut short', () => truncateSync(files.state, 1_000)],
    ['corrupted', 'with a memory cut short', () => truncateSync(files.memory, 50_000_000)],
    [
      'maintenance',
      'of another emulator',
      () => {
        const { snapshot } = JSON.parse(readFileSync(files.manifest, 'utf8'));
        const other = { ...snapshot, emulator: 'QEMU emulator version 5.2' };
        return import('../../src/platform/machines/drivers/qemu/snapshots/snapshot-manifest.ts').then((module) =>
          module.writeSnapshotManifest(files, other),
        );
      },
    ],
  ])('whose snapshot is %s, %s, boots with its disk as it was', async (cause, _, harm) => {
    await world.ask(`note ${cause}`, 'noted/');
    await driver.suspend('m1');
    await harm();
    expect(await driver.resume(spec)).toEqual({ outcome: 'discarded', cause });
    expect(driver.state('m1')).toBe('stopped');
    expect(existsSync(files.memory)).toBe(false);
    await boot();
    expect(await world.ask('read', 'note/')).toBe(cause);
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
    const before = await world.tick();
    expect(await moveInProcess('suspend', step, 'platform')).toBeUndefined();
    expect(await openDriver()).toEqual([{ id: 'm1', instance_id: 'i1', state }]);
    if (state === 'suspended') expect(await driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await world.tick()).toBeGreaterThan(before);
  });

  test.each([
    ['check the snapshot', 'suspended'],
    ['start the emulator', 'suspended'],
    ['remove the description', 'running'],
    ['continue the machine', 'running'],
  ])('is whole when the platform is killed in its resume before: %s', async (step, state) => {
    const before = await world.tick();
    await driver.suspend('m1');
    expect(await moveInProcess('resume', step, 'platform')).toBeUndefined();
    expect(await openDriver()).toEqual([{ id: 'm1', instance_id: 'i1', state }]);
    if (state === 'suspended') expect(await driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await world.tick()).toBeGreaterThan(before);
  });

  test.each([
    ['save the state', { outcome: 'failed', state: 'stopped' }],
    ['sum the memory', { outcome: 'failed', state: 'stopped' }],
    ['end the emulator', { outcome: 'suspended', state: 'suspended' }],
  ])('whose emulator is killed in its suspend before: %s, is %o', async (step, outcome) => {
    await world.ask('note killed', 'noted/');
    expect(await moveInProcess('suspend', step, 'emulator')).toEqual(outcome);
    const [found] = await openDriver();
    expect(found?.state).toBe(outcome.state === 'stopped' ? 'over' : 'suspended');
    if (outcome.state === 'stopped') await boot();
    else expect(await driver.resume(spec)).toEqual({ outcome: 'resumed' });
    expect(await world.ask('read', 'note/')).toBe('killed');
  });

  test('whose emulator ends while it runs has ended, and is found so by the next platform', async () => {
    process.kill(pidOf() ?? 0, 'SIGKILL');
    await eventually(() => exits.length === 1, LIMIT_MS);
    expect(exits[0]?.exit_code).toBeNull();
    expect(driver.state('m1')).toBe('stopped');
    await driver[Symbol.asyncDispose]();
    expect(await openDriver()).toEqual([{ id: 'm1', instance_id: 'i1', state: 'over' }]);
    await boot();
  });

  test('that powers itself off has ended well, and one that restarts itself has not', async () => {
    for (const [word, exit_code] of [
      ['exit', 0],
      ['reboot', 1],
    ] as const) {
      exits.length = 0;
      world.order(word);
      await eventually(() => exits.length === 1, LIMIT_MS);
      expect(exits).toEqual([{ exit_code, signal: null }]);
      await boot();
    }
  });

  test('is asked to end at a stop, and its disk is that of before after it', async () => {
    await world.ask('note stopped', 'noted/');
    await driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 60_000 });
    expect(exits).toEqual([{ exit_code: 0, signal: null }]);
    expect(existsSync(files.memory)).toBe(false);
    await boot();
    expect(await world.ask('read', 'note/')).toBe('stopped');
  });

  test('begins with the disk of its image where a stop resets it, and keeps its volumes', async () => {
    await driver.volumes.make('vol_1', 1);
    const more = { resetsRoot: true, volumes: [{ id: 'vol_1', path: '/data' }] };
    for (const volumeBoots of [1, 2]) {
      await driver.stop('m1', KILL);
      await boot(more);
      expect(world.told.findLast((path) => path.startsWith('boot/'))).toBe(`boot/1/${volumeBoots}/remora_tok`);
      // What a machine has written to a disk is there after a power cut once it was synced.
      await world.ask('note x', 'noted/');
      await driver.suspend('m1');
      expect((await driver.resume({ ...spec, ...more })).outcome).toBe('resumed');
      expect(await world.ask('write x 1', 'written/x/')).toMatch(/^[0-9a-f]{32}$/);
    }
  });

  describe('and its checkpoints', () => {
    const make = (comment: string) =>
      driver.checkpoints.make('m1', {
        comment,
        is_auto: false,
        signal: new AbortController().signal,
        onProgress: (line) => void lines.push(line),
        takeTurn: (step) => step(),
      });
    const restore = async (id: string) => {
      const work = { signal: new AbortController().signal, onProgress: () => undefined };
      await using prepared = await driver.checkpoints.prepareRestore('m1', id, work);
      await driver.stop('m1', KILL);
      await prepared.putInPlace();
    };

    test('are made while it is suspended and while it does not run; each is what it was', async () => {
      await world.ask('note first', 'noted/');
      await expect(make('running')).rejects.toMatchObject({ code: 'not_implemented' });
      await driver.suspend('m1');
      expect(await make('suspended')).toMatchObject({ id: 'v0', comment: 'suspended', is_healthy: true });
      expect((await driver.resume(spec)).outcome).toBe('resumed');
      await world.ask('note second', 'noted/');
      await world.tick();
      await driver.suspend('m1');
      await make('suspended');
      expect((await driver.resume(spec)).outcome).toBe('resumed');
      expect(await world.ask('read', 'note/')).toBe('second');
      await world.ask('note third', 'noted/');
      await driver.stop('m1', { signal: 'SIGTERM', timeout_ms: 60_000 });
      await make('stopped');
      expect((await driver.checkpoints.list('m1')).map(({ id, source_id }) => [id, source_id])).toEqual([
        ['v0', undefined],
        ['v1', 'v0'],
        ['v2', 'v1'],
      ]);
      for (const [id, note] of [
        ['v0', 'first'],
        ['v2', 'third'],
      ] as const) {
        await restore(id);
        expect(await driver.checkpoints.current('m1')).toBe(id);
        await boot();
        expect(await world.ask('read', 'note/')).toBe(note);
      }
    });

    test('that are deleted go with what lies on them, and their numbers are never used again', async () => {
      await driver.checkpoints.remove('m1', 'v1');
      expect(existsSync(join(files.dir, 'v1.qcow2'))).toBe(true);
      await restore('v0');
      await driver.checkpoints.remove('m1', 'v2');
      expect(existsSync(join(files.dir, 'v1.qcow2'))).toBe(false);
      expect(existsSync(join(files.dir, 'v2.qcow2'))).toBe(false);
      expect((await make('after')).id).toBe('v3');
      await expect(driver.checkpoints.remove('m1', 'v1')).rejects.toMatchObject({ code: 'not_found' });
      await boot();
      expect(await world.ask('read', 'note/')).toBe('first');
    });
  });

  test('that finds no image, or one that is none, does not start, and says how to make one', async () => {
    await driver.stop('m1', KILL);
    const more = { resetsRoot: true, config: { image: 'none-such' } };
    await expect(driver.start({ ...spec, ...more })).rejects.toThrow(/there is no image none-such.*remora image build/);
    mkdirSync(join(imagesDir, 'broken'));
    for (const file of ['kernel', 'initrd', 'base.qcow2']) writeFileSync(join(imagesDir, 'broken', file), 'nothing');
    const manifest = JSON.parse(readFileSync(join(imagesDir, 'small/manifest.json'), 'utf8'));
    writeFileSync(join(imagesDir, 'broken/manifest.json'), JSON.stringify({ ...manifest, name: 'broken' }));
    await expect(driver.start({ ...spec, resetsRoot: true, config: { image: 'broken' } })).rejects.toThrow();
    expect(driver.state('m1')).toBe('stopped');
    rmSync(join(imagesDir, 'broken'), { recursive: true });
    await boot({ resetsRoot: true });
  });
});
