// The setting resume.rng = restart, with a real daemon: after a resume that may have cloned the machine another process of it goes on in
// the same incarnation, with the same holds, events and readers, and with the recovery of the resume.
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { RESTART_FILE } from '../../../src/core/restart.ts';
import { type AgentProcess, startAgent } from '../../support/agent-process.ts';
import { ask } from '../../support/ask.ts';
import { readLines } from '../../support/read-lines.ts';
import { startRestartedAgent } from '../../support/restarted-agent.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';
import { tempDir } from '../../support/temp-dir.ts';

const RESTART = { REMORA_RESUME_RNG: 'restart' };
/** What is said of a step that took too long, as on a machine with other work. */
const LATE = /(within|longer than) \d+ ms$/;
const JSON_TYPE = { 'content-type': 'application/json' };

interface Status {
  readonly pid: number;
  readonly generation: number;
  readonly incarnation: string;
  readonly started_at: string;
}

const statusOf = async (socket: string) => (await ask(socket, { target: '/v1/status' })).json as Status;
const poke = (socket: string) => ask(socket, { method: 'POST', target: '/v1/machine/resumed' });

/** Every event since `since`, without those of ports that other tests open. */
async function eventsOf(socket: string, since = 0): Promise<Record<string, unknown>[]> {
  const lines = await readLines(`/v1/events?since=${since}`, socket);
  const { seq } = await lines.next();
  const found: Record<string, unknown>[] = [];
  for (let at = since; at < Number(seq); ) {
    const line = await lines.next();
    at = Number(line.seq ?? line.to);
    found.push(line);
  }
  lines.close();
  return found.filter(({ type }) => !String(type).startsWith('port_'));
}

const typesOf = async (socket: string, since = 0) => (await eventsOf(socket, since)).map(({ type }) => type);

it('is another process that finishes the recovery of the former one, in the same incarnation', async () => {
  const agent = await startRestartedAgent(RESTART);
  const before = await statusOf(agent.socket);
  const reader = await readLines('/v1/events?types=resumed,agent_restarted', agent.socket);
  const { seq } = await reader.next();

  expect((await poke(agent.socket)).json).toEqual({ generation: 1, new: true });
  expect(await reader.ended).toBe('end');
  await agent.served(1);
  const after = await statusOf(agent.socket);
  // A second resume is told with what it was seen by.
  expect(after.generation, JSON.stringify((await agent.get('/v1/machine')).json)).toBe(1);
  expect(after.pid).toBe(agent.child.pid);
  expect(after.pid).not.toBe(before.pid);
  expect(after.incarnation).not.toBe(before.incarnation);
  await expect.poll(() => typesOf(agent.socket, Number(seq))).toEqual(['agent_restarted', 'resumed']);
  const resumed = (await eventsOf(agent.socket, Number(seq))).at(-1);
  expect(resumed).toMatchObject({ type: 'resumed', generation: 1, cause: 'poke' });
  const steps = resumed?.steps as { name: string; ok: boolean; reason?: string }[];
  expect(steps.map(({ name }) => name)).toEqual([
    ...['gate', 'identity', 'sockets', 'restart'],
    ...['channel', 'policy', 'stream', 'ports', 'hooks'],
  ]);
  expect(steps.filter(({ ok, reason = '' }) => !ok && !LATE.test(reason))).toEqual([]);
  expect(readFileSync(join(agent.dir, 'generation'), 'utf8')).toBe('1\n');
  expect(existsSync(join(agent.dir, 'state', RESTART_FILE))).toBe(false);
  expect((await agent.get('/v1/machine')).json).toMatchObject({
    generation: 1,
    last_resume: { cause: 'poke', generation: 1 },
  });

  agent.child.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
  expect([agent.restarts, existsSync(agent.socket)]).toEqual([1, false]);
});

it('leaves what the next process needs in a file that nobody else can read, and asks to be started by its exit code', async () => {
  const agent = await startAgent({ ...RESTART, REMORA_STARTED_AGAIN: 'true', REMORA_TOKEN: 'sk-canary' });
  await poke(agent.socket);
  expect(await agent.ended).toBe(75);
  const path = join(agent.dir, 'state', RESTART_FILE);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, 'utf8')).not.toContain('sk-canary');
  expect(agent.log()).not.toContain('sk-canary');
  expect(existsSync(join(agent.dir, 'generation'))).toBe(true);
});

it('can be done again and again', async () => {
  const agent = await startRestartedAgent(RESTART);
  const incarnations = new Set<string>();
  for (let round = 1; round <= 3; round += 1) {
    // A poke within two seconds of a resume is about that one: the next process knows this as well.
    await expect.poll(async () => (await poke(agent.socket).catch(() => undefined))?.json).toMatchObject({ new: true });
    await agent.served(round);
    const status = await statusOf(agent.socket);
    expect(status.generation).toBe(round);
    incarnations.add(status.incarnation);
  }
  expect(incarnations.size).toBe(3);
  const resumes = async () => (await typesOf(agent.socket)).filter((type) => type === 'resumed');
  await expect.poll(resumes).toHaveLength(3);
});

it('keeps holds, also those of a connection, which has its time to come back', async () => {
  const agent = await startRestartedAgent(RESTART);
  await agent.ask({ method: 'PUT', target: '/v1/tasks/build', headers: JSON_TYPE, body: '{"expire":"10m"}' });
  const bound = await readLines('/v1/tasks/bound/stream', agent.socket);
  expect(await bound.next()).toMatchObject({ type: 'held' });
  await poke(agent.socket);
  expect(await bound.ended).toBe('end');
  await agent.served(1);
  const { tasks } = (await agent.get('/v1/tasks')).json as { tasks: { name: string; expire: number }[] };
  expect(tasks.map(({ name }) => name).sort()).toEqual(['bound', 'build']);
  expect(tasks.find(({ name }) => name === 'build')?.expire).toBeGreaterThan(570);
  expect(tasks.find(({ name }) => name === 'bound')?.expire).toBeLessThanOrEqual(30);
  const again = await readLines('/v1/tasks/bound/stream', agent.socket);
  expect(await again.next()).toMatchObject({ type: 'held', task: { name: 'bound', connection: true } });
  const holds = (await typesOf(agent.socket)).filter((type) => String(type).startsWith('hold_'));
  expect(holds).toEqual(['hold_created', 'hold_created']);
});

it('sends nothing out between the resume and the end, answers who is connected, and goes on with all settings', async () => {
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }],
  });
  const dir = tempDir();
  mkdirSync(join(dir, 'post-resume.d'));
  const ran = join(dir, 'ran');
  writeFileSync(join(dir, 'post-resume.d', 'note'), `#!/bin/sh\necho ran >> ${ran}\n`, { mode: 0o755 });
  const settings = { REMORA_BASE_URL: platform.url, REMORA_SPRITE: 'dev-1', REMORA_HOOKS_DIR: dir };
  const agent = await startRestartedAgent({ ...RESTART, ...settings, REMORA_TOKEN: 'tok' });
  const call = async () => (await agent.get('/v1/gateway/openai/conn_1/v1/models').catch(() => undefined))?.status;
  await expect.poll(call).toBe(200);
  const [calls, fetches] = [platform.calls.length, platform.fetches];
  const pokes = poke(agent.socket);
  const [early, wait] = await Promise.all([
    pokes.then(() => agent.get('/v1/gateway/openai/conn_1/early')).catch(() => undefined),
    agent.get('/v1/ports/1/wait?until=listen'),
  ]);
  expect(wait).toMatchObject({ status: 503, json: { error: 'resuming' }, headers: { 'retry-after': '1' } });
  // The former process refuses it, the next one serves it, or nobody listens in between.
  if (early !== undefined) expect([200, 503]).toContain(early.status);
  else expect([platform.calls.length, platform.fetches]).toEqual([calls, fetches]);
  await agent.served(1);
  await expect.poll(call).toBe(200);
  await expect.poll(() => existsSync(ran) && readFileSync(ran, 'utf8')).toBe('ran\n');
});

it.each([
  ['kept by default', {}, () => undefined],
  ['kept when only the process stood still', RESTART, (agent: AgentProcess) => agent.child.kill('SIGSTOP')],
])('is %s', async (_name, env, stop) => {
  const agent = await startAgent({ REMORA_STARTED_AGAIN: 'true', ...env });
  if (stop(agent) === true) {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    agent.child.kill('SIGCONT');
  } else await poke(agent.socket);
  await expect.poll(() => typesOf(agent.socket)).toContain('resumed');
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(agent.child.exitCode).toBe(null);
});

it('serves on and says so when what it knows cannot be written', async () => {
  const agent = await startAgent({ ...RESTART, REMORA_STARTED_AGAIN: 'true' });
  mkdirSync(join(agent.dir, 'state', `${RESTART_FILE}~`, 'full'), { recursive: true });
  await poke(agent.socket);
  await expect.poll(() => typesOf(agent.socket)).toEqual(expect.arrayContaining(['restart_failed', 'resumed']));
  expect((await agent.get('/v1/ready')).json).toMatchObject({
    parts: { resume: { state: 'degraded', reason: expect.stringContaining('not started again') } },
  });
  const { steps } = (await eventsOf(agent.socket)).find(({ type }) => type === 'resumed') as { steps: unknown };
  expect(steps).toContainEqual(expect.objectContaining({ name: 'restart', ok: false }));
  expect((await agent.get('/v1/tasks')).status).toBe(200);
});

it('keeps the process where nobody would start it again, and says that this goes unnoticed', async () => {
  const agent = await startAgent(RESTART);
  expect((await agent.get('/v1/status')).json).toMatchObject({
    warnings: [{ setting: 'resume.rng', message: expect.stringContaining('started_again') }],
    details: { resume: { blind_spots: expect.arrayContaining([expect.stringMatching(/^rng: nobody/)]) } },
  });
  await poke(agent.socket);
  await expect.poll(() => typesOf(agent.socket)).toContain('resumed');
  expect(agent.child.exitCode).toBe(null);
});
