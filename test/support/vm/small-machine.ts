// The driver of virtual machines with one machine whose system is a shell script, in a directory of its own.
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Secret } from '../../../src/core/secret.ts';
import type {
  FoundInstance,
  InstanceEnd,
  MachineDriver,
  MachineSpec,
} from '../../../src/platform/machines/drivers/machine-driver.ts';
import { MachineFiles } from '../../../src/platform/machines/drivers/qemu/machine-files.ts';
import { readNote } from '../../../src/platform/machines/drivers/qemu/machine-note.ts';
import { createQemuDriver } from '../../../src/platform/machines/drivers/qemu/qemu-driver.ts';
import type { QemuDriverOptions } from '../../../src/platform/machines/drivers/qemu/qemu-host.ts';
import { makeSmallImage } from './small-image.ts';
import { openSmallWorld, type SmallWorld } from './small-world.ts';

export const LIMIT_MS = 120_000;
export const KILL = { signal: 'SIGKILL', timeout_ms: 0 } as const;
export const smallSpec: MachineSpec = {
  id: 'm1',
  app: 'acme',
  // Drivers look for their emulators among all of the host: those of another test are not theirs.
  instance_id: randomUUID(),
  region: 'local',
  private_ip: 'fdaa::1',
  memory_mb: 96,
  sprite: 'web',
  config: {},
  environment: {},
  volumes: [],
  resetsRoot: false,
};

export interface SmallMachine extends AsyncDisposable {
  readonly dir: string;
  readonly imagesDir: string;
  readonly files: MachineFiles;
  readonly world: SmallWorld;
  /** The one that was opened last. */
  readonly driver: MachineDriver;
  /** How its instances ended. */
  readonly exits: InstanceEnd[];
  /** What the driver logged for people. */
  readonly lines: string[];
  openDriver(more?: Partial<QemuDriverOptions>): Promise<readonly FoundInstance[]>;
  boot(more?: Partial<MachineSpec>): Promise<void>;
  pid(): number;
  /** Runs a move in a process that kills itself, or the emulator, at a step. Undefined when it has killed itself. */
  moveInProcess(move: string, step: string, victim: 'platform' | 'emulator'): Promise<unknown>;
}

/** The machine runs. `machinesDir` is another place for its files. */
export async function openSmallMachine(
  more: Partial<QemuDriverOptions> = {},
  machinesDir?: string,
): Promise<SmallMachine> {
  const dir = mkdtempSync('/var/tmp/remora-qemu-');
  const imagesDir = await makeSmallImage(dir);
  const world = await openSmallWorld();
  const exits: InstanceEnd[] = [];
  const lines: string[] = [];
  const options = {
    dir: machinesDir ?? join(dir, 'machines'),
    volumesDir: join(dir, 'volumes'),
    imagesDir,
    accel: 'tcg' as const,
    hostMemory_mb: 256,
    endMachines: false,
    ...more,
  };
  const files = new MachineFiles(join(options.dir, 'm1'));
  const log = (_: object, message: string) => void lines.push(message);
  let driver: MachineDriver | undefined;
  const openDriver = async (change: Partial<QemuDriverOptions> = {}) => {
    driver = createQemuDriver({
      machinesUrl: () => world.url,
      createToken: async () => new Secret('remora_tok'),
      log: { debug: () => undefined, info: log, warn: log, error: log },
      ...options,
      ...change,
    });
    driver.onExit(async (_, end) => void exits.push(end));
    return await driver.findInstances();
  };
  const current = (): MachineDriver => {
    if (driver === undefined) throw new Error('no driver was opened');
    return driver;
  };
  const machine: SmallMachine = {
    dir,
    imagesDir,
    files,
    world,
    exits,
    lines,
    get driver() {
      return current();
    },
    openDriver,
    async boot(change = {}) {
      await current().start({ ...smallSpec, ...change });
      await world.tick();
    },
    pid: () => readNote(files.dir)?.pid ?? 0,
    async moveInProcess(move, step, victim) {
      await current()[Symbol.asyncDispose]();
      const script = new URL('./qemu-driver-process.ts', import.meta.url).pathname;
      const given = JSON.stringify({ ...options, url: world.url });
      const child = spawn(process.execPath, [script, given, JSON.stringify(smallSpec), move, step, victim], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const [said] = await Promise.all([text(child.stdout), once(child, 'exit')]);
      return said === '' ? undefined : JSON.parse(said);
    },
    async [Symbol.asyncDispose]() {
      await driver?.stop('m1', KILL);
      await driver?.[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
      rmSync(dir, { recursive: true, force: true });
    },
  };
  await openDriver();
  await machine.boot();
  return machine;
}
