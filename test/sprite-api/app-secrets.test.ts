// The secrets of an app in a machine that runs the real agent: the programs of the app have them, and nothing else ever shows them.
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { agentOperations } from '../../src/contract/agent-operations.ts';
import { platformOperations } from '../../src/contract/platform-operations.ts';
import type { ServiceState } from '../../src/contract/services.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { CanarySearch, drawCanary } from '../support/canary.ts';
import { eventually } from '../support/eventually.ts';
import { openExec, toExecQuery } from '../support/exec-socket.ts';
import { openKillablePlatform } from '../support/killable-platform.ts';
import { readAll } from '../support/read-all.ts';
import { remoraPath } from '../support/run-remora.ts';
import { signalRunning } from '../support/signal-running.ts';
import { tempDir } from '../support/temp-dir.ts';

const CANARY = drawCanary();
const search = new CanarySearch({ secret: CANARY });
const SHOW = 'printf %s "$CANARY" | sha256sum';
const digest = (value: string) => createHash('sha256').update(value).digest('hex');
const none = digest('');
const words = (command: string) => `cmd=sh&cmd=-c&cmd=${encodeURIComponent(command)}`;

async function open() {
  // An agent that ends and is started again at a resume.
  const config = join(tempDir(), 'agent.toml');
  writeFileSync(config, '[resume]\nrng = "restart"\n');
  const agentCommand = { command: process.execPath, args: [remoraPath, 'agent', '--config', config] };
  const machine = await openAgentMachine({ agentCommand, trustMachines: true });
  const { platform, socket } = machine;
  const secret = '/v1/apps/acme/secrets/CANARY';
  const set = async (value: string) => (await platform.call({ method: 'PUT', path: secret, body: { value } })).status;
  const remove = async () => (await platform.call({ method: 'DELETE', path: secret })).status;
  const run = async (command: string, query = '') => {
    const path = `/v1/sprites/dev-1/exec?${words(command)}${query}`;
    return (await platform.call({ method: 'POST', path })).text;
  };
  const runLocally = async (command: string) =>
    (await ask(socket, { method: 'POST', target: `/v1/exec?${words(command)}` })).text;
  const put = (name: string, request: object) =>
    platform.call({ method: 'PUT', path: `/v1/sprites/dev-1/services/${name}?duration=0`, body: request });
  const state = async (name: string): Promise<ServiceState | undefined> =>
    (await platform.call({ path: `/v1/sprites/dev-1/services/${name}` })).json.state;
  const log = async (name: string) => (await platform.call({ path: `/v1/sprites/dev-1/services/${name}/logs` })).text;
  return { ...machine, platform, set, remove, run, runLocally, put, state, log };
}

async function runInTerminal(socket: string, command: string): Promise<string> {
  const caller = await openExec(socket, `?${toExecQuery(['sh', '-c', command], { tty: 'true' })}`);
  await caller.closed;
  return caller.messages.join('');
}

test('programs of the app have them through its whole life, and nothing else shows them', async () => {
  const all = await open();
  const { platform, dir, id, socket, set, remove, run, runLocally, put, state, log, post, wait, status } = all;
  const script = `${SHOW}; sleep 600 & wait`;
  const { hostname: host, port } = new URL(platform.url);
  const ofPlatform = {
    to: { host, port: Number(port) },
    headers: { authorization: `Bearer ${platform.token.reveal()}` },
  };
  const filling = { app_name: 'acme', machine_id: id, name: 'dev-1', service: 'web' };
  const expectHidden = () => {
    expect(search.files(platform.dir)).toEqual([]);
    expect(search.processes()).toEqual([]);
    expect(search.in(JSON.stringify(platform.log))).toEqual([]);
  };
  const expectUnread = async () => {
    const answers = [
      ...(await readAll(platformOperations, ofPlatform, filling)),
      ...(await readAll(agentOperations, { to: { socketPath: socket } }, filling)),
    ];
    expect(answers.filter(({ bytes }) => search.in(bytes).length > 0).map(({ operation }) => operation)).toEqual([]);
  };

  expect(await set(CANARY)).toBe(200);
  for (const shown of [await run(SHOW), await runLocally(SHOW), await runInTerminal(socket, SHOW)]) {
    expect(shown).toContain(digest(CANARY));
  }
  expect(await run(SHOW, '&env=CANARY%3Down')).toContain(digest('own'));
  await put('web', { cmd: 'sh', args: ['-c', script] });
  await put('again', { cmd: 'sh', args: ['-c', script], restart_on_environment_change: true });
  await put('own', { cmd: 'sh', args: ['-c', script], env: { CANARY: 'own' } });
  await eventually(async () => (await log('again')).includes(digest(CANARY)));
  await eventually(async () => (await log('own')).includes(digest('own')));
  await eventually(async () => (await log('web')).includes(digest(CANARY)));
  const before = await state('web');
  if (before === undefined) throw new Error('the service has no state');
  await expectUnread();
  expectHidden();

  // Another value reaches new programs; a running service keeps its own, and says so.
  const other = `${CANARY}2`;
  await set(other);
  await eventually(async () => (await log('again')).includes(digest(other)));
  expect(await state('web')).toMatchObject({ pid: before.pid, stale_environment: true });
  expect(await state('own')).not.toHaveProperty('stale_environment');
  expect(await run(SHOW)).toContain(digest(other));
  await set(CANARY);
  await eventually(async () => {
    const now = await state('web');
    return now !== undefined && now.stale_environment === undefined;
  });

  // A resume, at which this agent ends and is started again.
  const agent = (await status()).pid;
  expect((await post('suspend')).status).toBe(200);
  expect((await wait('state=suspended')).status).toBe(200);
  await set(other);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect((await post('start')).status).toBe(200);
  // An agent that has found by itself that its process stood still does not end for that, and a word about it tells it nothing new.
  await eventually(async () => {
    await ask(socket, { method: 'POST', target: '/v1/machine/resumed' }).catch(() => undefined);
    const isNext = async () => (await status().catch(() => ({ pid: agent }))).pid !== agent;
    return await eventually(isNext, 2_000).catch(() => false);
  });
  // The channel of the agent that has ended may break a call off.
  await eventually(async () => (await state('web'))?.stale_environment === true);
  expect(await run(SHOW)).toContain(digest(other));
  expect((await state('web'))?.pid).toBe(before.pid);
  await set(CANARY);
  await eventually(async () => (await run(SHOW)).includes(digest(CANARY)));
  expectHidden();

  // A boot: the services wait for the secrets.
  expect((await platform.call({ method: 'POST', path: '/v1/sprites/dev-1/restart' })).status).toBe(200);
  await eventually(async () => (await state('web'))?.status === 'running');
  await eventually(async () => (await log('web')).split(digest(CANARY)).length === 3);
  expectHidden();

  expect(await remove()).toBe(204);
  await eventually(async () => (await run(SHOW)).includes(none));
  expect((await state('web'))?.stale_environment).toBe(true);
  await eventually(async () => (await log('again')).includes(none));
  expectHidden();
  expect(dir.startsWith(platform.dir)).toBe(true);
});

test('a machine whose platform is away goes on with what it knows, and starts nothing where it knows nothing', async () => {
  const platform = await openKillablePlatform();
  const { call, dir } = platform;
  const socket = join(dir, 'agent.sock');
  await call({ method: 'PUT', path: '/v1/apps/acme/secrets/CANARY', body: { value: CANARY } });
  const run = () => ask(socket, { method: 'POST', target: `/v1/exec?${words(SHOW)}` });
  await eventually(async () => (await run()).text.includes(digest(CANARY)));
  const supervisor = (await platform.inside('/v1/status')).details.supervisor.pid;
  await platform.kill();
  expect((await run()).text).toContain(digest(CANARY));
  // The agent has them, and gives them to the next supervisor.
  signalRunning(supervisor, 'SIGKILL');
  await eventually(async () => (await run()).text.includes(digest(CANARY)));
  expect(search.files(join(dir, '..', '..'))).toEqual([]);
});
