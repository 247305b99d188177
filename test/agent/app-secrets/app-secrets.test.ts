// The secrets of an app at agents of one machine that is run elsewhere: with a platform that is silent, and in copies of the machine.
import { createHash } from 'node:crypto';
import { cpSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ServiceResponse } from '../../../src/contract/services.ts';
import { type AgentProcess, startAgent } from '../../support/agent-process.ts';
import { atEnd } from '../../support/at-end.ts';
import { CanarySearch, drawCanary } from '../../support/canary.ts';
import { eventually } from '../../support/eventually.ts';
import { toExecQuery } from '../../support/exec-socket.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { killProcesses } from '../../support/processes-of.ts';
import { openTcpDoor } from '../../support/tcp-door.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openWebSocket } from '../../support/websocket-caller.ts';

const SHOW = 'printf %s "$KEY" | sha256sum';
const digest = (value: string) => createHash('sha256').update(value).digest('hex');
const VALUE = drawCanary();
const search = new CanarySearch({ secret: VALUE });

async function open() {
  const platform = await openTestPlatform();
  const { admin } = platform;
  const name = { organization: 'acme', sprite: 'dev-1' } as const;
  await admin.createSprite({ organization: 'acme', name: name.sprite, external: true });
  const { id } = await admin.readMachine(name);
  const port = Number(new URL(platform.url).port);
  const door = await openTcpDoor(port);
  const env = {
    REMORA_BASE_URL: door.url,
    REMORA_TOKEN: (await admin.createToken(name)).reveal(),
    REMORA_SPRITE: name.sprite,
    REMORA_APP: 'acme',
    REMORA_MACHINE: id,
    REMORA_USER: String(process.geteuid?.() ?? 0),
  };
  const set = (value: string) => platform.call({ method: 'PUT', path: '/v1/apps/acme/secrets/KEY', body: { value } });
  await set(VALUE);
  return {
    platform,
    set,
    /** Has the machine reach the platform, or a server that takes connections and never says anything. */
    reach: async (isThere: boolean) => door.lead(isThere ? port : await openSilence()),
    /** Has the machine reach a proxy whose platform is away. */
    reachProxy: async () => door.lead(await openProxy()),
    adopt: () => platform.call({ method: 'POST', path: `/v1/apps/acme/machines/${id}/adopt` }),
    /** Starts with the state of `from`, of which nothing may run. */
    async start(from?: AgentProcess, dir = tempDir()): Promise<Machine> {
      if (from !== undefined) cpSync(join(from.dir, 'state'), join(dir, 'state'), { recursive: true });
      atEnd(() => killProcesses(dir));
      return toMachine(await startAgent(env, dir));
    },
  };
}

async function openSilence(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => undefined).resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function openProxy(): Promise<number> {
  const server = createHttpServer((_request, response) => response.writeHead(404).end('<html><h1>nginx</h1></html>'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  atEnd(() => void server.close().closeAllConnections());
  return (server.address() as AddressInfo).port;
}

interface Machine extends AgentProcess {
  /** What a program says that is started now, or the code of the refusal. */
  run(): Promise<string>;
  /** Does what `run` does, over one connection for all its programs. */
  control(): Promise<() => Promise<string>>;
  put(name: string): Promise<unknown>;
  restart(name: string): Promise<unknown>;
  service(name: string): Promise<ServiceResponse>;
  logOf(name: string): Promise<string>;
  /** Whether the platform serves it; null until it has said so. */
  isServed(): Promise<boolean | null>;
  resume(): Promise<unknown>;
  endAgent(): Promise<void>;
}

function toMachine(agent: AgentProcess): Machine {
  const { ask, get, child, ended } = agent;
  const post = (target: string) => ask({ method: 'POST', target });
  const define = { cmd: 'sh', args: ['-c', `${SHOW}; sleep 600 & wait`] };
  const headers = { 'content-type': 'application/json' };
  return {
    ...agent,
    async run() {
      const { status, text, json } = await post(`/v1/exec?${toExecQuery(['sh', '-c', SHOW])}`);
      return status === 200 ? text : `${status} ${(json as { error: string }).error}`;
    },
    async control() {
      const { socket, messages } = await openWebSocket(agent.socket, '/v1/control');
      const start = { type: 'op.start', op: 'exec', args: { cmd: ['sh', '-c', SHOW] } };
      return async () => {
        const begin = messages.length;
        socket.send(`control:${JSON.stringify(start)}`);
        const said = () => messages.slice(begin).join('');
        await eventually(() => said().includes('op.complete'));
        return said();
      };
    },
    put: (name) =>
      ask({ method: 'PUT', target: `/v1/services/${name}?duration=0`, headers, body: JSON.stringify(define) }),
    restart: (name) => post(`/v1/services/${name}/restart?duration=0`),
    service: async (name) => (await get(`/v1/services/${name}`)).json as ServiceResponse,
    logOf: async (name) => (await get(`/v1/services/${name}/logs`)).text,
    isServed: async () => JSON.parse((await get('/v1/status')).text).details.report.ok,
    resume: () => post('/v1/machine/resumed'),
    async endAgent() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const UNAVAILABLE = '503 secrets_unavailable';

/** A program that is started has this value, as soon as the platform has answered. */
const shows = (machine: Machine, value: string) =>
  eventually(async () => (await machine.run()).includes(digest(value)));

test('a platform that never answers is waited for for a few seconds; what was known goes on being used, and is in memory only', async () => {
  const { set, reach, start } = await open();
  await reach(false);
  const machine = await start();
  const began_ms = performance.now();
  const [said] = await Promise.all([machine.run(), machine.put('web')]);
  expect(said).toBe(UNAVAILABLE);
  expect(performance.now() - began_ms).toBeGreaterThan(1_000);
  const failed = await eventually(async () => {
    const { state } = await machine.service('web');
    return state?.status === 'failed' && state.error;
  });
  expect(failed).toMatch(/secrets of the app are not known/);

  // The platform is back: what has failed is started by itself.
  await reach(true);
  await eventually(async () => (await machine.logOf('web')).includes(digest(VALUE)));
  await shows(machine, VALUE);

  await reach(false);
  expect(await machine.run()).toContain(digest(VALUE));
  await machine.resume();
  expect(await machine.run()).toContain(digest(VALUE));
  const later = search.add('secret of later', drawCanary());
  await set(later);
  await reach(true);
  await shows(machine, later);
  await reach(false);
  await machine.endAgent();
  // The supervisor has them.
  const again = await start(undefined, machine.dir);
  expect(await again.run()).toContain(digest(later));
  expect(search.files(machine.dir)).toEqual([]);
  expect(search.processes()).toEqual([]);
  expect(search.in(machine.log() + again.log())).toEqual([]);
});

test('the 404 of a proxy does not mean that there are none: nothing is started without them', async () => {
  const { reach, reachProxy, start } = await open();
  await reachProxy();
  const machine = await start();
  expect(await machine.run()).toBe(UNAVAILABLE);
  await reach(true);
  await shows(machine, VALUE);
});

test('a copy that is refused starts nothing with them, what it runs goes on, and who takes over has the latest', async () => {
  const { set, start, adopt } = await open();
  const seed = await start();
  await eventually(async () => (await seed.isServed()) === true);
  const first = await seed.control();
  await eventually(async () => (await first()).includes(digest(VALUE)));
  await seed.endAgent();
  await killProcesses(seed.dir);
  const [one, other] = await Promise.all([start(seed), start(seed)]);
  await Promise.all([shows(one, VALUE), shows(other, VALUE)]);
  await other.put('web');
  await eventually(async () => (await other.logOf('web')).includes(digest(VALUE)));
  const { state: before } = await other.service('web');
  expect(before?.pid).toBeGreaterThan(0);

  await one.resume();
  await eventually(async () => (await one.isServed()) === true);
  await shows(one, VALUE);
  await other.resume();
  await eventually(async () => (await other.run()) === UNAVAILABLE);
  await eventually(async () => (await other.isServed()) === false);
  expect((await other.service('web')).state?.pid).toBe(before?.pid);
  await other.restart('web');
  const refusal = await eventually(async () => (await other.service('web')).state?.error ?? false);
  expect(refusal).toMatch(/this machine gets no secrets of its app: .*remora machine adopt/);
  // One that was left behind has the former nonce.
  const old = await start(seed);
  expect(await old.run()).toBe(UNAVAILABLE);

  const over = await one.control();
  expect(await over()).toContain(digest(VALUE));
  const later = drawCanary();
  await set(later);
  await eventually(async () => (await over()).includes(digest(later)));
  await shows(one, later);
  expect([await other.run(), await old.run()]).toEqual([UNAVAILABLE, UNAVAILABLE]);
  expect((await adopt()).status).toBeLessThan(300);
  await other.endAgent();
  const taken = await start(undefined, other.dir);
  await eventually(async () => (await taken.logOf('web')).includes(digest(later)));
  await shows(taken, later);
  await eventually(async () => (await one.run()) === UNAVAILABLE, 60_000);
});
