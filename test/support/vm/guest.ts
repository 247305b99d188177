// A virtual machine for a test: boots from an image, is saved to files, and comes back from them, once or several times side by side.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { constants, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '../../../src/core/secret.ts';
import { openFreePort } from '../free-port.ts';
import { connectQmp } from './qmp.ts';
import { runScript } from './run-script.ts';

export interface GuestImage {
  readonly dir: string;
  readonly append: string;
  readonly cpu: string;
}

/** The memory, the state and the disk of a machine that stands still, in a directory. */
export interface Snapshot {
  readonly dir: string;
}

export interface Guest {
  /** Ports on this machine: of the root shell, and of the sockets of the bare responder and the agent. */
  readonly ports: { readonly shell: number; readonly bare: number; readonly socket: number };
  /** Runs a script in it as root; resolves with all that it printed. */
  run(script: string, limit_ms?: number): Promise<string>;
  console(): string;
  /** Lets the machine stand still in place for so long, with its clocks frozen. */
  pause(ms: number): Promise<void>;
  /** The same with clocks that run on. */
  freeze(ms: number): Promise<void>;
  /** Ends the emulator; the memory stays in the files. Resolves with the time that it took to save. */
  suspend(): Promise<Snapshot & { readonly save_ms: number }>;
  kill(): Promise<void>;
  /** What the emulator said last. */
  said(): string;
}

const MEMORY_MB = 512;
const credentials = ['remora-token', 'remora-env'];
const snapshotFiles = ['disk.qcow2', 'memory', 'state', ...credentials];

export interface GuestOptions {
  /** An empty directory for its files. */
  readonly dir: string;
  /** Called with what kills it. */
  readonly atEnd: (end: () => Promise<void>) => void;
  readonly image: GuestImage;
  /** Read at a boot only. */
  readonly token?: Secret;
  readonly environment?: Readonly<Record<string, string>>;
  /** Comes back from these files, which are copied first. */
  readonly from?: Snapshot;
  /** Boots from a copy of this disk, with what was read at its own boot. */
  readonly disk?: Snapshot;
  /** The emulator is to start, with its files in place; at a restore, the machine is to go on. */
  readonly onStep?: (step: 'start' | 'run') => void;
  /** Begun with the emulator; at a restore, the state is loaded once it resolves. */
  readonly whileStarting?: () => Promise<void>;
}

/** Resolves when the emulator runs the machine; throws when the state cannot be loaded. */
export async function startGuest({
  dir,
  atEnd,
  image,
  token = new Secret(''),
  environment = {},
  from,
  disk,
  onStep,
  whileStarting = async () => undefined,
}: GuestOptions): Promise<Guest> {
  const file = (name: string) => join(dir, name);
  if (disk !== undefined) {
    for (const name of ['disk.qcow2', ...credentials]) copyFileSync(join(disk.dir, name), file(name));
  } else if (from === undefined) {
    const create = [
      'create',
      '-q',
      '-f',
      'qcow2',
      '-F',
      'qcow2',
      '-b',
      join(image.dir, 'base.qcow2'),
      file('disk.qcow2'),
    ];
    execFileSync('qemu-img', create);
    writeFileSync(file('remora-token'), token.reveal(), { mode: 0o600 });
    const lines = Object.entries(environment).map(([name, value]) => `${name}="${value}"\n`);
    writeFileSync(file('remora-env'), lines.join(''), { mode: 0o600 });
  } else {
    for (const name of snapshotFiles) copyFileSync(join(from.dir, name), file(name), constants.COPYFILE_FICLONE);
  }
  if (from === undefined) execFileSync('fallocate', ['-l', `${MEMORY_MB}M`, file('memory')]);
  const [shell = 0, bare = 0, socket = 0] = await Promise.all(Array.from({ length: 3 }, () => openFreePort()));
  const ports = { shell, bare, socket };
  onStep?.('start');
  const preparing = whileStarting();
  preparing.catch(() => undefined);
  const child = spawn(
    'setpriv',
    ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...toArguments(image, ports, from !== undefined)],
    {
      cwd: dir,
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  atEnd(kill);
  const qmp = await connectQmp(file('vm.qmp'));
  await preparing;
  if (from !== undefined) {
    await qmp.run('migrate-set-capabilities', { capabilities: [{ capability: 'x-ignore-shared', state: true }] });
    await qmp.run('migrate-incoming', { uri: `exec:cat ${file('state')}` });
    while ((await qmp.run('query-status')).status === 'inmigrate') await sleep(5);
    onStep?.('run');
    await qmp.run('cont');
  }
  return {
    ports,
    run: (script, limit_ms) => runScript(ports.shell, script, limit_ms),
    console: () => readFileSync(file('console'), 'utf8'),
    async pause(ms) {
      await qmp.run('stop');
      await sleep(ms);
      await qmp.run('cont');
    },
    async freeze(ms) {
      child.kill('SIGSTOP');
      await sleep(ms);
      child.kill('SIGCONT');
    },
    async suspend() {
      const begun_ms = performance.now();
      await qmp.run('stop');
      await qmp.run('migrate-set-capabilities', { capabilities: [{ capability: 'x-ignore-shared', state: true }] });
      await qmp.run('migrate-set-parameters', { 'max-bandwidth': 8 * 1024 ** 3 });
      await qmp.run('migrate', { uri: `exec:cat > ${file('state')}` });
      for (;;) {
        const { status } = await qmp.run('query-migrate');
        if (status === 'completed') break;
        if (status === 'failed') throw new Error('the machine could not be saved');
        await sleep(5);
      }
      const save_ms = performance.now() - begun_ms;
      await qmp.run('quit').catch(() => undefined);
      qmp.end();
      await ended;
      return { dir, save_ms };
    },
    kill,
    said: () => said,
  };
}

/** Copies a snapshot into an empty directory, for a test that changes it. */
export function copySnapshot({ dir }: Snapshot, copy: string): Snapshot {
  for (const name of snapshotFiles) copyFileSync(join(dir, name), join(copy, name));
  return { dir: copy };
}

function toArguments({ dir, append, cpu }: GuestImage, ports: Guest['ports'], isIncoming: boolean): string[] {
  const forwards = [
    [ports.shell, 9000],
    [ports.bare, 9001],
    [ports.socket, 9002],
  ].map(([here, there]) => `hostfwd=tcp:127.0.0.1:${here}-10.77.0.2:${there}`);
  return [
    ...['-M', 'q35,accel=tcg,memory-backend=m0', '-cpu', cpu, '-smp', '1', '-m', String(MEMORY_MB)],
    ...['-object', `memory-backend-file,id=m0,size=${MEMORY_MB}M,mem-path=memory,share=on`],
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-rtc', 'base=utc,clock=host'],
    ...['-kernel', join(dir, 'kernel'), '-initrd', join(dir, 'initrd'), '-append', append],
    ...['-drive', 'file=disk.qcow2,if=none,id=d0,format=qcow2,cache=unsafe', '-device', 'virtio-blk-pci,drive=d0'],
    ...['-netdev', `user,id=n0,net=10.77.0.0/24,host=10.77.0.1,dhcpstart=10.77.0.15,${forwards.join(',')}`],
    ...['-device', 'virtio-net-pci,netdev=n0,romfile=,mac=52:54:00:12:34:56'],
    ...['-serial', 'file:console', '-qmp', 'unix:vm.qmp,server=on,wait=off'],
    // The id is that of another machine at each start, which is what a restore looks like to the device.
    ...['-device', `vmgenid,guid=${randomUUID()}`],
    ...credentials.flatMap((name) => ['-fw_cfg', `name=opt/io.systemd.credentials/${name},file=${name}`]),
    ...(isIncoming ? ['-incoming', 'defer', '-S'] : []),
  ];
}
