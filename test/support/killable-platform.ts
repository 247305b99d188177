// `remora platform` in a process of its own with one sprite, `dev-1`, whose machine runs the real agent and outlives it: the platform can
// be killed and started again at the same address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { Secret } from '../../src/core/secret.ts';
import { ask } from './ask.ts';
import { atEnd } from './at-end.ts';
import { isGone } from './left-machines.ts';
import { callPlatform, type PlatformAnswer, type PlatformCall, TEST_KEY } from './open-platform.ts';
import { remoraPath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

export interface KillablePlatform {
  readonly url: string;
  /** Of the organization, with full access. */
  readonly token: Secret;
  /** Of the machine. */
  readonly dir: string;
  /** A path in the writable files of the machine. */
  home(...names: readonly string[]): string;
  call(call: PlatformCall): Promise<PlatformAnswer>;
  /** `path`: below the machine. */
  machine(method: string, path?: string): Promise<PlatformAnswer>;
  /** What the agent of the machine answers to its own machine, whether there is a platform or not. */
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  inside(target: string): Promise<any>;
  /** The pids of the agent and its supervisor. */
  daemons(): readonly number[];
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

/** The platform is killed with the test, and everything of its machine. */
export async function openKillablePlatform(): Promise<KillablePlatform> {
  const own = tempDir();
  const [keyFile, tokenFile] = [join(own, 'key'), join(own, 'token')];
  writeFileSync(keyFile, TEST_KEY.reveal(), { mode: 0o600 });
  const words = ['--dir', join(own, 'p'), '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
  const start = async (port: string) => {
    const args = [remoraPath, 'platform', ...words, '--port', port, '--trust-machines', '--token-rate', '1000000'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const line of createInterface({ input: child.stdout })) {
      if (!line.includes('"serving"')) continue;
      child.stdout.resume();
      return { child, url: String(JSON.parse(line).url) };
    }
    throw new Error('the platform does not serve');
  };
  let running = await start('0');
  const kill = async () => {
    const { child } = running;
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await exited;
  };
  atEnd(async () => {
    await kill();
    for (let left = listProcesses(own); left.length > 0; left = listProcesses(own)) {
      for (const pid of left) killProcess(pid);
      await sleep(20);
    }
  });
  const { url } = running;
  const token = new Secret(readFileSync(tokenFile, 'utf8').trim());
  const call = (asked: PlatformCall) => callPlatform(url, { token, ...asked });
  const made = await call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
  const { machine_id } = made.json;
  const dir = join(own, 'p', 'machines', machine_id);
  const machine = (method: string, path = '') => call({ method, path: `/v1/apps/acme/machines/${machine_id}${path}` });
  const started = await machine('POST', '/start');
  if (started.status !== 200) throw new Error(started.text);
  return {
    url,
    token,
    dir,
    home: (...names) => join(dir, 'home', ...names),
    call,
    machine,
    inside: async (target) => (await ask(join(dir, 'agent.sock'), { target })).json,
    daemons: () => listProcesses(own).filter(isDaemon),
    kill,
    async startAgain() {
      running = await start(new URL(url).port);
    },
  };
}

/** Those that have a path of the directory among their words or variables. */
function listProcesses(dir: string): readonly number[] {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  return pids.filter((pid) => !isGone(pid) && (read(pid, 'cmdline') + read(pid, 'environ')).includes(dir));
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

function read(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'latin1');
  } catch {
    return '';
  }
}

function isDaemon(pid: number): boolean {
  const words = read(pid, 'cmdline').split('\0');
  const at = words.findIndex((word) => word.endsWith('/remora.js'));
  return at >= 0 && ['agent', 'supervisor'].includes(words[at + 1] ?? '');
}
