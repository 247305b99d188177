// The setting resume.rng = reexec, with a real daemon: after a resume that may have cloned the machine it is a new program image with
// the same pid, the same sockets and the same state, and no caller was refused.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type AgentProcess, spawnAgent, startAgent } from '../../support/agent-process.ts';
import { ask } from '../../support/ask.ts';
import { startCalls } from '../../support/call-loop.ts';
import { imageOf, startOf } from '../../support/exec-of.ts';
import { loudly } from '../../support/loudly.ts';
import { readLines } from '../../support/read-lines.ts';
import { remoraPath } from '../../support/run-remora.ts';
import { openStandInPlatform } from '../../support/stand-in-platform.ts';
import { tempDir } from '../../support/temp-dir.ts';

const REEXEC = { REMORA_RESUME_RNG: 'reexec' };
const JSON_TYPE = { 'content-type': 'application/json' };

interface Status {
  readonly pid: number;
  readonly generation: number;
  readonly incarnation: string;
  readonly started_at: string;
}

const statusOf = async (socket: string) => (await ask(socket, { target: '/v1/status' })).json as Status;
const poke = (socket: string) => ask(socket, { method: 'POST', target: '/v1/machine/resumed' });

async function types(socket: string, since = 0): Promise<string[]> {
  const lines = await readLines(`/v1/events?since=${since}`, socket);
  const { seq } = await lines.next();
  const found: string[] = [];
  for (let at = since; at < Number(seq); ) {
    const line = await lines.next();
    at = Number(line.seq ?? line.to);
    found.push(String(line.type));
  }
  lines.close();
  return found.filter((type) => !type.startsWith('port_'));
}

/** Resolves when the program image is another one and serves. */
async function replaced(agent: Pick<AgentProcess, 'child' | 'socket'>, before: string): Promise<Status> {
  await expect.poll(() => imageOf(agent.child.pid), { timeout: 15_000, interval: 10 }).not.toBe(before);
  return await statusOf(agent.socket);
}

it('refuses nobody, breaks nothing off, and stays the same process with a new image', async () => {
  const agent = await startAgent(REEXEC);
  const image = imageOf(agent.child.pid);
  const started = startOf(agent.child.pid);
  const before = await statusOf(agent.socket);
  const inode = statSync(agent.socket).ino;
  const reader = await readLines('/v1/events?types=resumed,agent_reexecuted', agent.socket);
  const { seq } = await reader.next();
  const calls = startCalls(agent.socket, '/v1/health');

  expect((await poke(agent.socket)).json).toEqual({ generation: 1, new: true });
  const after = await replaced(agent, image);
  expect(await reader.next()).toMatchObject({ type: 'resumed', generation: 1, cause: 'poke' });
  expect(await reader.ended).toBe('end');
  const report = await calls.stop();

  expect(report.troubles).toEqual([]);
  expect(report.calls).toBeGreaterThan(20);
  expect(after).toMatchObject({ pid: before.pid, generation: 1 });
  expect(after.incarnation).not.toBe(before.incarnation);
  expect(Date.parse(after.started_at)).toBeGreaterThan(Date.parse(before.started_at));
  expect(startOf(agent.child.pid)).toBe(started);
  expect(statSync(agent.socket).ino).toBe(inode);
  expect(readFileSync(join(agent.dir, 'generation'), 'utf8')).toBe('1\n');
  expect(await types(agent.socket, Number(seq))).toEqual(['resumed', 'agent_reexecuted']);
  expect((await agent.get('/v1/machine')).json).toMatchObject({
    generation: 1,
    last_resume: { cause: 'poke', generation: 1 },
  });

  agent.child.kill('SIGTERM');
  expect(await agent.ended).toBe(0);
  expect(existsSync(agent.socket)).toBe(false);
});

it('can be done again and again, without leaving descriptors behind', async () => {
  const agent = await startAgent(REEXEC);
  const incarnations = new Set<string>();
  const counts: number[] = [];
  for (let round = 1; round <= 3; round += 1) {
    const image = imageOf(agent.child.pid);
    // A poke within two seconds of a resume is about that one: the new image knows this as well.
    await expect.poll(async () => (await poke(agent.socket)).json).toMatchObject({ new: true });
    const status = await replaced(agent, image);
    expect(status.generation).toBe(round);
    incarnations.add(status.incarnation);
    counts.push(Number(((await agent.get('/v1/status')).json as { cost: { open_fds: number } }).cost.open_fds));
  }
  expect(incarnations.size).toBe(3);
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(3);
  expect((await types(agent.socket)).filter((type) => type === 'resumed')).toHaveLength(3);
});

it('keeps holds, also those of a connection, which has its time to come back', async () => {
  const agent = await startAgent(REEXEC);
  const image = imageOf(agent.child.pid);
  await agent.ask({ method: 'PUT', target: '/v1/tasks/build', headers: JSON_TYPE, body: '{"expire":"10m"}' });
  const bound = await readLines('/v1/tasks/bound/stream', agent.socket);
  expect(await bound.next()).toMatchObject({ type: 'held' });
  await poke(agent.socket);
  await replaced(agent, image);
  expect(await bound.ended).toBe('end');
  const { tasks } = (await agent.get('/v1/tasks')).json as { tasks: { name: string; expire: number }[] };
  expect(tasks.map(({ name }) => name).sort()).toEqual(['bound', 'build']);
  expect(tasks.find(({ name }) => name === 'build')?.expire).toBeGreaterThan(570);
  expect(tasks.find(({ name }) => name === 'bound')?.expire).toBeLessThanOrEqual(30);
  const again = await readLines('/v1/tasks/bound/stream', agent.socket);
  expect(await again.next()).toMatchObject({ type: 'held', task: { name: 'bound', connection: true } });
  expect((await types(agent.socket)).filter((type) => type.startsWith('hold_'))).toEqual([
    'hold_created',
    'hold_created',
  ]);
});

it('hands the token over, and not through the environment', async () => {
  const token = 'sk-canary-handover';
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }],
  });
  const agent = await startAgent({
    ...REEXEC,
    REMORA_BASE_URL: platform.url,
    REMORA_SPRITE: 'dev-1',
    REMORA_TOKEN: token,
  });
  const call = async () => (await agent.get('/v1/gateway/openai/conn_1/v1/models')).status;
  await expect.poll(call).toBe(200);
  const image = imageOf(agent.child.pid);
  await poke(agent.socket);
  await replaced(agent, image);
  await expect.poll(call).toBe(200);
  expect(platform.calls.at(-1)?.rawHeaders).toContain(`Bearer ${token}`);
  expect(readFileSync(`/proc/${agent.child.pid}/environ`, 'latin1')).not.toContain(token);
  expect(agent.log()).not.toContain(token);
});

it('lets a call in flight finish, and tells one that takes too long to try again', async () => {
  const platform = await openStandInPlatform({
    connectors: [{ id: 'conn_1', provider: 'openai', access_policy: { allow_all: true } }],
    onGateway(request, response) {
      if (request.url?.endsWith('/quick')) setTimeout(() => response.end('done'), 1_500);
    },
  });
  // The gate opens before the hooks run: while this one does, calls go out over the new connections.
  const dir = tempDir();
  mkdirSync(join(dir, 'post-resume.d'));
  writeFileSync(join(dir, 'post-resume.d', 'slow'), '#!/bin/sh\nsleep 1\n', { mode: 0o755 });
  const settings = { REMORA_BASE_URL: platform.url, REMORA_SPRITE: 'd', REMORA_TOKEN: 't', REMORA_HOOKS_DIR: dir };
  const agent = await startAgent({ ...REEXEC, ...settings });
  const ready = async () => (await agent.get('/v1/ready')).json;
  await expect.poll(ready).toMatchObject({ parts: { gateway: { state: 'ok' }, ports: { state: 'ok' } } });
  const image = imageOf(agent.child.pid);
  await poke(agent.socket);
  const answers = [
    '/v1/gateway/openai/conn_1/quick',
    '/v1/gateway/openai/conn_1/never',
    '/v1/ports/1/wait?until=listen',
  ];
  const [quick, never, wait] = await Promise.all(answers.map((target) => agent.get(target)));
  expect(quick).toMatchObject({ status: 200, text: 'done' });
  expect(never?.json).toMatchObject({ error: expect.stringMatching(/^(?:resuming|upstream_failed)$/) });
  expect(wait).toMatchObject({ status: 503, json: { error: 'resuming' }, headers: { 'retry-after': '1' } });
  await replaced(agent, image);
});

it.each([
  ['kept by default', {}, () => undefined],
  ['kept when only the process stood still', REEXEC, (agent: AgentProcess) => agent.child.kill('SIGSTOP')],
])('is %s', async (_name, env, stop) => {
  const agent = await startAgent(env);
  const image = imageOf(agent.child.pid);
  if (stop(agent) === true) {
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    agent.child.kill('SIGCONT');
  } else await poke(agent.socket);
  await expect.poll(async () => await types(agent.socket)).toContain('resumed');
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  expect(imageOf(agent.child.pid)).toBe(image);
});

it('serves on and says so when its program cannot be started again', async () => {
  const dir = tempDir();
  const program = join(dir, 'program.mjs');
  const main = new URL('../../../src/agent/main.ts', import.meta.url).href;
  writeFileSync(
    program,
    `import { runAgent } from ${JSON.stringify(main)};
     process.exitCode = await runAgent({ env: process.env, flags: {}, version: '0' });`,
  );
  const agent = spawnAgent(REEXEC, dir, program);
  await expect.poll(() => existsSync(agent.socket)).toBe(true);
  const image = imageOf(agent.child.pid);
  rmSync(program);
  await poke(agent.socket);
  await expect.poll(async () => await types(agent.socket)).toContain('reexec_failed');
  expect((await agent.get('/v1/ready')).json).toMatchObject({
    parts: { resume: { state: 'degraded', reason: expect.stringContaining('program.mjs') } },
  });
  expect(imageOf(agent.child.pid)).toBe(image);
  expect((await agent.get('/v1/tasks')).status).toBe(200);
});

it('says at the start when this Node cannot hand sockets over', async () => {
  const agent = await startAgent({ ...REEXEC, NODE_OPTIONS: '--no-experimental-ffi' });
  expect((await agent.get('/v1/status')).json).toMatchObject({
    warnings: [{ setting: 'resume.rng', message: expect.stringContaining('node:ffi') }],
  });
});

const missing = loudly(
  spawnSync('systemd-socket-activate', ['--version']).status !== 0,
  'systemd-socket-activate is missing: the handover of its sockets is not tried',
);

it.skipIf(missing)('goes on with the sockets of systemd, the loopback listener and every other door', async () => {
  const dir = tempDir();
  const paths = { main: join(dir, 'main.sock'), readonly: join(dir, 'readonly.sock') };
  const child = spawn(
    'systemd-socket-activate',
    [
      ...['-l', paths.main, '-l', paths.readonly, '--fdname=remora:readonly'],
      ...['-E', `REMORA_SOCKET=${join(dir, 'never.sock')}`, '-E', `REMORA_STATE_DIR=${join(dir, 'state')}`],
      ...['-E', 'REMORA_LOG_LEVEL=silent', '-E', 'REMORA_RESUME_RNG=reexec', '-E', 'REMORA_LISTEN=127.0.0.1:0'],
      ...[process.execPath, remoraPath, 'agent'],
    ],
    { stdio: 'ignore' },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await expect.poll(() => existsSync(paths.readonly)).toBe(true);
  await ask(paths.main, { target: '/v1/health' });
  const image = imageOf(child.pid);
  const calls = startCalls(paths.readonly, '/v1/health');
  await poke(paths.main);
  const status = await replaced({ child, socket: paths.main }, image);
  expect(status).toMatchObject({ pid: child.pid, generation: 1 });
  expect((await calls.stop()).troubles).toEqual([]);
  expect(await ask(paths.readonly, { method: 'POST', target: '/v1/machine/suspend' })).toMatchObject({ status: 403 });
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
  expect(existsSync(paths.main)).toBe(true);
});
