// Boots a tree of files under its own systemd, in a container, and runs scripts in it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createCgroup } from '../../src/linux/processes/cgroup.ts';
import { eventually } from './eventually.ts';
import { signalRunning } from './signal-running.ts';

export interface Container extends AsyncDisposable {
  /** Runs a script as root. Throws with its output when it fails. */
  run(script: string): Promise<string>;
  /** Ends everything in it and boots it again. */
  restart(): Promise<void>;
  /** Every process in it, systemd first, as this machine numbers them. */
  pids(): number[];
}

export interface ContainerOptions {
  readonly tree: string;
  /** Further words for systemd-nspawn. */
  readonly words: readonly string[];
  /** What a root shell has in it. */
  readonly env: NodeJS.ProcessEnv;
}

/** SIGRTMIN+4 asks systemd to power off. */
const POWER_OFF = 38;
const START_LIMIT_MS = 120_000;
const END_LIMIT_MS = 20_000;
const MODES = ['--register=no', '--keep-unit', '--resolv-conf=off', '--link-journal=no', '-b'];
// systemd-nspawn keeps files in /run, which may lie on a file system that it refuses.
const INSIDE = 'mount -t tmpfs tmpfs /run && exec systemd-nspawn "$@"';
const UNSHARE = ['unshare', '-m', '--propagation', 'private', 'sh', '-c', INSIDE, 'sh', '-q'];

/** Where systemd keeps control groups: one hierarchy, or two where the controllers are those of version 1. */
const HIERARCHIES = ['/sys/fs/cgroup', '/sys/fs/cgroup/unified', '/sys/fs/cgroup/systemd'].filter((path) =>
  existsSync(join(path, 'cgroup.procs')),
);
const JOIN = 'until [ "$1" = -- ]; do echo 0 > "$1/cgroup.procs" || exit 1; shift; done; shift; exec "$@"';
let containers = 0;

export interface OwnContainer extends Container {
  /** Where its files are here. */
  readonly tree: string;
}

/** Boots a tree whose parent directory is its own: it is removed with the container, also when that does not boot. */
export async function bootOwnTree(options: ContainerOptions): Promise<OwnContainer> {
  const { tree } = options;
  const removeTree = () => rmSync(dirname(tree), { recursive: true, force: true });
  try {
    const container = await bootContainer(options);
    return {
      ...container,
      tree,
      async [Symbol.asyncDispose]() {
        await container[Symbol.asyncDispose]();
        removeTree();
      },
    };
  } catch (error) {
    removeTree();
    throw error;
  }
}

/** Resolves when it has booted. */
async function bootContainer({ tree, words, env }: ContainerOptions): Promise<Container> {
  const groups = makeGroups();
  const boot = () =>
    spawn('sh', ['-c', JOIN, 'sh', ...groups, '--', ...UNSHARE, '-D', tree, ...words, ...MODES], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' },
    });
  let container = boot();
  let ended = once(container, 'exit');
  const first = () =>
    Number(readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').split(' ')[0]);

  async function run(script: string): Promise<string> {
    const enter = ['-t', `${first()}`, '-m', '-p', '-u', '-i', '-n', '-C', 'bash', '-c', `cd /root && ${script}`];
    const child = spawn('nsenter', enter, { stdio: ['ignore', 'pipe', 'pipe'], env });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part) => parts.push(part));
    child.stderr.on('data', (part) => parts.push(part));
    const [status] = await once(child, 'close');
    const said = Buffer.concat(parts).toString();
    if (status !== 0) throw new Error(`status ${status} of ${script}\n${said}`);
    return said;
  }

  async function booted(): Promise<void> {
    await eventually(() => first() > 0, START_LIMIT_MS);
    await eventually(() => run('systemctl is-system-running').then(Boolean, isDegraded), START_LIMIT_MS);
  }

  async function powerOff(): Promise<void> {
    try {
      signalRunning(first(), POWER_OFF);
    } catch {
      // It has ended already.
    }
    const late = setTimeout(() => container.kill('SIGKILL'), END_LIMIT_MS);
    if (container.exitCode === null && container.signalCode === null) await ended;
    clearTimeout(late);
  }

  async function end(): Promise<void> {
    await powerOff();
    for (const group of groups) {
      // The kernel may still count a process in it that has just ended.
      await eventually(() => {
        createCgroup(group).remove();
        return !existsSync(group);
      });
    }
  }

  try {
    await booted();
  } catch (error) {
    await end();
    throw error;
  }
  return {
    run,
    async restart() {
      await powerOff();
      container = boot();
      ended = once(container, 'exit');
      await booted();
    },
    pids() {
      const space = namespaceOf(first());
      return readdirSync('/proc')
        .map(Number)
        .filter((pid) => pid > 0 && namespaceOf(pid) === space);
    },
    [Symbol.asyncDispose]: end,
  };
}

/** Groups of its own for a container: two with the same would each see, and keep, what runs in the units of the other. */
function makeGroups(): string[] {
  containers += 1;
  const groups = HIERARCHIES.map((path) => join(path, `remora-test-${process.pid}-container-${containers}`));
  for (const group of groups) mkdirSync(group);
  return groups;
}

/** Undefined for a process that has ended. */
function namespaceOf(pid: number): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

/** A unit that has nothing to do in a container may have failed. */
function isDegraded(error: unknown): boolean {
  return error instanceof Error && error.message.includes('degraded');
}
