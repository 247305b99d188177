// `remora platform` in a process of its own with one sprite, `dev-1`, whose machine runs the real agent and outlives it: the platform can
// be killed and started again at the same address.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret } from '../../src/core/secret.ts';
import { ask } from './ask.ts';
import { atEnd } from './at-end.ts';
import { eventually } from './eventually.ts';
import { openFreePort } from './free-port.ts';
import { memoryDir } from './memory-dir.ts';
import { callPlatform, type PlatformAnswer, type PlatformCall, TEST_KEY } from './open-platform.ts';
import { killProcesses, listProcesses, readOf } from './processes-of.ts';
import { remoraPath } from './run-remora.ts';

export interface KillablePlatform {
  readonly url: string;
  /** The token of the organization, with full access. */
  readonly token: Secret;
  /** The directory of the platform. */
  readonly platformDir: string;
  /** The directory of the machine. */
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
  /** What all its processes have printed. */
  log(): string;
  /** Resolves when the process is gone. */
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

export interface KillablePlatformOptions {
  /** Another copy of the program. */
  readonly program?: string;
  /** Further words of its command. */
  readonly words?: readonly string[];
}

/** The platform is killed with the test, and everything of its machine. */
export async function openKillablePlatform(options: KillablePlatformOptions = {}): Promise<KillablePlatform> {
  const { program = remoraPath, words: more = [] } = options;
  const own = memoryDir();
  const [keyFile, tokenFile, platformDir] = [join(own, 'key'), join(own, 'token'), join(own, 'p')];
  writeFileSync(keyFile, TEST_KEY.reveal(), { mode: 0o600 });
  const words = ['--dir', platformDir, '--key-file', keyFile, '--organization', 'acme', '--token-file', tokenFile];
  let log = '';
  const start = async (port: string) => {
    const args = [
      program,
      'platform',
      ...words,
      '--port',
      port,
      '--trust-machines',
      '--token-rate',
      '1000000',
      '--sprite-idle',
      '0s',
      ...more,
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
    }
    const begin = log.length;
    return await eventually(() => {
      if (child.exitCode !== null) throw new Error(`the platform does not serve: ${log.slice(begin)}`);
      const line = log
        .slice(begin)
        .split('\n')
        .find((each) => each.includes('"serving"') && each.endsWith('}'));
      return line !== undefined && { child, url: String(JSON.parse(line).url) };
    }, 60_000);
  };
  let running = await start(String(await openFreePort()));
  const kill = async () => {
    const { child } = running;
    const exited = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    child.kill('SIGKILL');
    await exited;
  };
  atEnd(async () => {
    await kill();
    await killProcesses(own);
  });
  const { url } = running;
  const token = new Secret(readFileSync(tokenFile, 'utf8').trim());
  const call = (asked: PlatformCall) => callPlatform(url, { token, ...asked });
  const made = await call({ method: 'POST', path: '/v1/sprites', body: { name: 'dev-1' } });
  const { machine_id } = made.json;
  const dir = join(platformDir, 'machines', machine_id);
  const machine = (method: string, path = '') => call({ method, path: `/v1/apps/acme/machines/${machine_id}${path}` });
  const started = await machine('POST', '/start');
  if (started.status !== 200) throw new Error(started.text);
  return {
    url,
    token,
    platformDir,
    dir,
    home: (...names) => join(dir, 'home', ...names),
    call,
    machine,
    inside: async (target) => (await ask(join(dir, 'agent.sock'), { target })).json,
    daemons: () => listProcesses(own).filter(isDaemon),
    log: () => log,
    kill,
    async startAgain() {
      running = await start(new URL(url).port);
    },
  };
}

function isDaemon(pid: number): boolean {
  const words = readOf(pid, 'cmdline').split('\0');
  const at = words.findIndex((word) => /\/remora\.c?js$/.test(word));
  return at >= 0 && ['agent', 'supervisor'].includes(words[at + 1] ?? '');
}
