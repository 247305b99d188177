// The real agent in the machine of a world, which may enforce a network policy, and its platform in the world outside.
import type { ChildProcess } from 'node:child_process';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { signalProcess } from '../../src/linux/processes/signal-process.ts';
import { ask } from './ask.ts';
import { eventually } from './eventually.ts';
import { WITH_GROUPS } from './network/attempt-notes.ts';
import { listPids, type NetworkWorld, openNetworkWorld } from './network-world.ts';
import { remoraPath } from './run-remora.ts';
import { tempDir } from './temp-dir.ts';

const PRIVATE = '10.20.0.1';
const NODE = [process.execPath, '--disable-warning=ExperimentalWarning'];

const names = [
  `host-record=platform.example,${PRIVATE},60`,
  'host-record=a.example,93.184.0.1,600',
  'host-record=b.example,93.184.0.2,600',
];

interface Answer {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: the fields of answers are what the tests compare.
  readonly json: any;
}

/** `called`: what answers the calls of the test from outside. */
export async function openAgentWorld(called: 'channel' | 'platform' = 'channel') {
  const world = await openNetworkWorld();
  world.useNameServer();
  await world.setNames(names);
  const [dir, platformDir] = [tempDir(), tempDir()];
  const child = new URL('network-platform-child.ts', import.meta.url).pathname;
  const platform = world.startOutside([...NODE, child, platformDir, PRIVATE, '4180', called]);
  let failed = '';
  platform.stderr?.setEncoding('utf8').on('data', (text: string) => {
    failed += text;
  });
  if (platform.stdout === null) throw new Error('it has no output');
  const lines = createInterface({ input: platform.stdout })[Symbol.asyncIterator]();
  const read = async () => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the platform ended: ${failed}`);
    return JSON.parse(value);
  };
  const { id, token } = await read();
  const socket = join(dir, 'run', 'agent.sock');
  mkdirSync(join(dir, 'run'));
  let agent: ChildProcess | undefined;
  let log = '';

  async function start(
    env: Record<string, string> = { REMORA_NETWORK_POLICY: 'true' },
    program = remoraPath,
  ): Promise<void> {
    const started = world.start([...WITH_GROUPS, ...NODE, program, 'agent'], {
      env: {
        REMORA_SOCKET: socket,
        REMORA_STATE_DIR: join(dir, 'state'),
        REMORA_BASE_URL: 'http://platform.example:4180',
        REMORA_PLAIN_HTTP_HOSTS: 'platform.example',
        REMORA_APP: 'acme',
        REMORA_MACHINE: id,
        REMORA_SPRITE: 'dev-1',
        REMORA_TOKEN: token,
        REMORA_USER: 'root',
        ...env,
      },
    });
    agent = started;
    for (const stream of [started.stdout, started.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        log += text;
      });
    }
    await eventually(async () => {
      if (started.exitCode !== null) throw new Error(`the agent ended: ${log}`);
      return await ask(socket, { target: '/v1/ready' }).then(
        () => true,
        () => false,
      );
    });
  }
  async function end(): Promise<void> {
    const ended = new Promise((resolve) => agent?.once('close', resolve));
    agent?.kill('SIGKILL');
    await ended;
  }
  return {
    ...{ world, dir, platformDir, id, start, end },
    log: () => log,
    get: (target: string): Promise<Answer> => ask(socket, { target }),
    post: (target: string, body: object): Promise<Answer> =>
      ask(socket, {
        target,
        method: 'POST',
        body: JSON.stringify(body),
        headers: { 'content-type': 'application/json' },
      }),
    /** A call to the platform. */
    async outside(method: string, path: string, body?: object): Promise<Answer> {
      platform.stdin?.write(`${JSON.stringify({ method, path, body })}\n`);
      return await read();
    },
    /** The platform moves to another private address, to which its name leads from then on. */
    async movePlatform(address: string): Promise<void> {
      const added = world.startOutside(['ip', 'addr', 'add', `${address}/32`, 'dev', 'lo']);
      await new Promise((resolve) => added.once('close', resolve));
      await world.setNames(names.map((line) => line.replace(PRIVATE, address)));
      platform.stdin?.write(`${JSON.stringify({ move_to: address })}\n`);
      await read();
    },
    /** `opened`: how many channels the agent has opened. */
    async overChannel(method: string, path: string, body?: object): Promise<Answer & { readonly opened: number }> {
      platform.stdin?.write(`${JSON.stringify({ method, path, body })}\n`);
      return await read();
    },
  };
}

/** Kills what enforces the policy, and resolves when it is gone. It may end by itself meanwhile. */
export async function killEnforcers(world: NetworkWorld): Promise<void> {
  for (const pid of enforcersOf(world)) signalProcess(pid, 'SIGKILL');
  await eventually(() => enforcersOf(world).length === 0);
}

/** The processes that enforce the policy in the machine of a world. */
export function enforcersOf({ machine }: NetworkWorld): number[] {
  return listPids(machine).filter((pid) => {
    try {
      return /\/remora\.c?js\0network\0/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
    } catch {
      return false;
    }
  });
}
