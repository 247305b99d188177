// Many sprites on a platform in a process of its own, whose machines this process plays, and callers who come all at once.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { HTTP_AUTHORITY } from '../../../src/contract/channel.ts';
import { toStreamSocket } from '../../../src/http/stream-socket.ts';
import { createSlots, type Slots } from '../../../src/platform/idle/slots.ts';
import { atEnd } from '../at-end.ts';
import { memoryDir } from '../memory-dir.ts';
import type { ChildMessage, ChildOrder, Measured } from './platform-child.ts';
import { createPlayedAgents, type PlayedAgents } from './played-agents.ts';

export interface StormAnswer {
  /** 0 where the connection broke. */
  readonly status: number;
  readonly text: string;
  readonly retryAfter: string | undefined;
  readonly ms: number;
}

type Order =
  Exclude<ChildOrder, { done: number }> extends infer O ? (O extends { ask: number } ? Omit<O, 'ask'> : never) : never;

export interface Storm {
  readonly agents: PlayedAgents;
  /** How often each request has come to a machine, by its path. */
  readonly arrivals: ReadonlyMap<string, number>;
  createOrganization(name: string, running_limit?: number): Promise<void>;
  /** Makes public sprites, which were never started. */
  create(organization: string, names: readonly string[]): Promise<void>;
  /** Makes public sprites and starts them. */
  createRunning(organization: string, names: readonly string[]): Promise<void>;
  /** Makes public sprites that are suspended. */
  createSuspended(organization: string, names: readonly string[]): Promise<void>;
  measure(): Promise<Measured>;
  /** One request on a connection of its own. Never rejects. */
  ask(organization: string, sprite: string, path: string): Promise<StormAnswer>;
}

/** `rising`: what the machine of a sprite takes to boot and to thaw. */
export async function openStorm(rising: (sprite: string) => Promise<void> = async () => undefined): Promise<Storm> {
  const child = fork(new URL('./platform-child.ts', import.meta.url), [memoryDir()], {
    execArgv: process.env.PROF ? ['--cpu-prof', '--cpu-prof-dir=/tmp/prof'] : [],
  });
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  // What is sent to it while it is being ended does not arrive.
  child.on('error', () => undefined);
  const ready = Promise.withResolvers<string>();
  const answers = new Map<number, (value: unknown) => void>();
  const arrivals = new Map<string, number>();
  /** The slots of each organization: the callers of one do not wait for those of another. */
  const connecting = new Map<string, Slots>();
  let proxyPort = 0;
  let last = 0;

  const server = createServer((asked, response) => {
    const path = asked.url ?? '';
    arrivals.set(path, (arrivals.get(path) ?? 0) + 1);
    response.end(`${asked.headers.host?.split('.')[0]} ${path}`);
  });
  let url = '';
  const agents = createPlayedAgents({
    url: () => url,
    rising,
    serve(_sprite, authority, stream) {
      if (authority !== HTTP_AUTHORITY) return false;
      stream.respond({ ':status': 200 });
      server.emit('connection', toStreamSocket(stream));
      return true;
    },
  });
  atEnd(async () => {
    agents[Symbol.dispose]();
    child.kill('SIGKILL');
    await gone;
  });

  child.on('message', (message: ChildMessage) => {
    if ('ready' in message) ready.resolve(message.ready);
    else if ('answer' in message) answers.get(message.answer)?.(message.value);
    else {
      const { world, number } = message;
      const done = world.do === 'boot' ? agents.boot(world.spec) : agents[world.do](world.id);
      done.then(() => child.connected && child.send({ done: number } satisfies ChildOrder));
    }
  });
  child.once('exit', (code) => ready.reject(new Error(`the platform ended with ${code}`)));
  url = await ready.promise;

  function order(asked: Order): Promise<unknown> {
    last += 1;
    const number = last;
    return new Promise((resolve, reject) => {
      answers.set(number, (value) => {
        answers.delete(number);
        if (typeof value === 'object' && value !== null && 'failed' in value) reject(new Error(String(value.failed)));
        else resolve(value);
      });
      child.send({ ...asked, ask: number } as ChildOrder);
    });
  }

  async function create(organization: string, names: readonly string[]): Promise<void> {
    proxyPort = Number(await order({ what: 'sprites', organization, names }));
  }

  async function createRunning(organization: string, names: readonly string[]): Promise<void> {
    await create(organization, names);
    await order({ what: 'start', organization, names });
  }

  return {
    agents,
    arrivals,
    async createOrganization(name, running_limit) {
      await order({ what: 'organization', name, running_limit: running_limit ?? null });
    },
    create,
    createRunning,
    async createSuspended(organization, names) {
      await createRunning(organization, names);
      await order({ what: 'suspend', organization, names });
    },
    measure: async () => (await order({ what: 'measure' })) as Measured,
    ask(organization, sprite, path) {
      const slots = connecting.get(organization) ?? createSlots(CONNECTING);
      connecting.set(organization, slots);
      return ask(slots, proxyPort, `${sprite}.${organization}.localhost`, path);
    },
  };
}

/** The kernel resets connections beyond those that it holds for a listener. All of them may be open at once. */
const CONNECTING = 256;

async function dial(port: number): Promise<Socket> {
  const socket = connect({ host: '127.0.0.1', port });
  await once(socket, 'connect');
  return socket;
}

async function ask(slots: Slots, port: number, host: string, path: string): Promise<StormAnswer> {
  const begun_ms = performance.now();
  const socket = await slots.run(() => dial(port));
  return await new Promise((resolve) => {
    const end = (status: number, text: string, retryAfter?: string) =>
      resolve({ status, text, retryAfter, ms: performance.now() - begun_ms });
    const call = request({ createConnection: () => socket, path, headers: { host: `${host}:${port}` } });
    call.once('error', (error) => end(0, String(error)));
    call.once('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.once('error', (error) => end(0, String(error)));
      response.once('end', () => {
        socket.destroy();
        end(response.statusCode ?? 0, text, response.headers['retry-after']);
      });
    });
    call.end();
  });
}
