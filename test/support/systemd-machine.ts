// A Debian that runs under its own systemd, in a container that shares the network of this machine. What it installs is fetched for
// real, with the npm that started the test.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { copyDebianTree } from './debian-tree.ts';
import { eventually } from './eventually.ts';

export interface SystemdMachine extends AsyncDisposable {
  /** Where its files are here. */
  readonly tree: string;
  /** Runs a script as root. Throws with its output when it fails. */
  run(script: string): Promise<string>;
  /** Ends everything in it and boots it again. */
  restart(): Promise<void>;
}

const NPM = '/usr/local/lib/npm';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** SIGRTMIN+4 asks systemd to power off. */
const POWER_OFF = 38;
const START_LIMIT_MS = 60_000;

export async function openSystemdMachine(): Promise<SystemdMachine> {
  const tree = copyDebianTree();
  const npm = dirname(dirname(realpathSync(execFileSync('which', ['npm'], { encoding: 'utf8' }).trim())));
  const command = join(tree, 'usr/local/bin/npm');
  writeFileSync(command, `#!/bin/sh\nexec node ${NPM}/bin/npm-cli.js "$@"\n`);
  chmodSync(command, 0o755);
  const binds = [`--bind-ro=${realpathSync(process.execPath)}:/usr/local/bin/node`, `--bind-ro=${npm}:${NPM}`];
  const modes = ['--register=no', '--keep-unit', '--resolv-conf=off', '--link-journal=no', '-b'];
  // systemd-nspawn keeps files in /run, which may lie on a file system that it refuses.
  const inside = 'mount -t tmpfs tmpfs /run && exec systemd-nspawn "$@"';
  const boot = () =>
    spawn(
      'unshare',
      ['-m', '--propagation', 'private', 'sh', '-c', inside, 'sh', '-q', '-D', tree, ...binds, ...modes],
      {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: '1' },
      },
    );
  let container = boot();
  let ended = once(container, 'exit');
  const first = () =>
    Number(readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8').split(' ')[0]);

  async function run(script: string): Promise<string> {
    const enter = ['-t', `${first()}`, '-m', '-p', '-u', '-i', '-n', '-C', 'bash', '-c', `cd /root && ${script}`];
    const child = spawn('nsenter', enter, { stdio: ['ignore', 'pipe', 'pipe'], env: insideEnvironment() });
    const parts: Buffer[] = [];
    child.stdout.on('data', (part) => parts.push(part));
    child.stderr.on('data', (part) => parts.push(part));
    const [status] = await once(child, 'close');
    const said = Buffer.concat(parts).toString();
    if (status !== 0) throw new Error(`status ${status} of ${script}\n${said}`);
    return said;
  }

  async function booted() {
    await eventually(() => first() > 0, START_LIMIT_MS);
    await eventually(() => run('systemctl is-system-running').then(Boolean, isDegraded), START_LIMIT_MS);
  }

  async function powerOff() {
    try {
      process.kill(first(), POWER_OFF);
    } catch {
      // It has ended already.
    }
    const late = setTimeout(() => container.kill('SIGKILL'), 20_000);
    if (container.exitCode === null && container.signalCode === null) await ended;
    clearTimeout(late);
  }

  async function restart() {
    await powerOff();
    container = boot();
    ended = once(container, 'exit');
    await booted();
  }

  async function end() {
    await powerOff();
    rmSync(dirname(tree), { recursive: true, force: true });
  }

  try {
    await booted();
  } catch (error) {
    await end();
    throw error;
  }
  return { tree, run, restart, [Symbol.asyncDispose]: end };
}

/** A unit that has nothing to do in a container may have failed. */
function isDegraded(error: unknown): boolean {
  return error instanceof Error && error.message.includes('degraded');
}

/** The little that a root shell has, and what npm needs to know of the network here. */
function insideEnvironment(): NodeJS.ProcessEnv {
  const passed = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy'];
  const registry = execFileSync('npm', ['config', 'get', 'registry'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return {
    ...Object.fromEntries(passed.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []))),
    HOME: '/root',
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    DEBIAN_FRONTEND: 'noninteractive',
    NODE_EXTRA_CA_CERTS: CERTIFICATES,
    npm_config_cafile: CERTIFICATES,
    npm_config_registry: registry.trim(),
  };
}
