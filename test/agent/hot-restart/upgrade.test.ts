// The upgrade of an agent: the real daemon, from a program whose version changes on the disk.
import { expect, it } from 'vitest';
import { type AgentProcess, spawnAgent } from '../../support/agent-process.ts';
import { ask } from '../../support/ask.ts';
import { startCalls } from '../../support/call-loop.ts';
import { eventually } from '../../support/eventually.ts';
import { imageOf } from '../../support/exec-of.ts';
import { copyProgram } from '../../support/program-copy.ts';
import { startSupervisor } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NEWER = '99.1.0';

async function openAgent(env: Readonly<Record<string, string>> = {}, dir = tempDir()) {
  const program = copyProgram();
  const agent = spawnAgent({ REMORA_USER: String(process.getuid?.() ?? 0), ...env }, dir, program.path);
  await eventually(async () => (await agent.get('/v1/health').catch(() => undefined))?.status === 200);
  const upgrade = (query = '') => agent.ask({ method: 'POST', target: `/v1/upgrade${query}` });
  return { program, agent, upgrade, image: imageOf(agent.child.pid) };
}

const infoOf = async (agent: AgentProcess) => (await agent.get('/info')).json as { version: string };

it('answers when the new version serves, on the connection that asked the old one', async () => {
  const { program, agent, upgrade, image } = await openAgent();
  const calls = startCalls(agent.socket, '/v1/health');
  program.install(NEWER);
  const answer = await upgrade();
  expect(answer).toMatchObject({
    status: 200,
    json: { version_before: program.version, version_after: NEWER },
  });
  expect(await infoOf(agent)).toMatchObject({ version: NEWER });
  expect(imageOf(agent.child.pid)).not.toBe(image);
  expect((await agent.get('/v1/status')).json).toMatchObject({ pid: agent.child.pid, generation: 0 });
  const { troubles } = await calls.stop();
  expect(troubles).toEqual([]);

  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
});

it('keeps the image when nothing newer is installed', async () => {
  const { agent, upgrade, image } = await openAgent();
  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
  expect(imageOf(agent.child.pid)).toBe(image);
});

it('runs on when the program on the disk does not start', async () => {
  const { program, agent, upgrade, image } = await openAgent();
  program.install(NEWER);
  program.damage();
  const message = expect.stringMatching(/does not start .*holds\.ts/);
  expect(await upgrade()).toMatchObject({ status: 504, json: { error: 'start_failed', message } });
  expect(imageOf(agent.child.pid)).toBe(image);
  expect(await infoOf(agent)).toMatchObject({ version: program.version });
});

it('waits for a program that a caller is connected to, and leaves a service alone', async () => {
  const { dir, child } = await startSupervisor();
  const { program, agent, upgrade } = await openAgent({}, dir);
  const define = {
    method: 'PUT',
    target: '/v1/services/kept?duration=1s',
    headers: { 'content-type': 'application/json' },
  };
  // It is found by the directory, and ended with the supervisor.
  const kept = { cmd: 'sleep', args: ['600'], env: { DIR: `${dir}/` } };
  await agent.ask({ ...define, body: JSON.stringify(kept) });
  const service = async () =>
    ((await agent.get('/v1/services/kept')).json as { state: { pid: number; status: string } }).state;
  const { pid } = await service();
  const slow = ask(agent.socket, { method: 'POST', target: '/v1/exec?cmd=sh&cmd=-c&cmd=sleep+4;echo+whole' });
  await expect.poll(async () => (await agent.get('/v1/exec')).text).toContain('whole');
  program.install(NEWER);
  const answer = await upgrade();
  expect(answer).toMatchObject({ status: 200, json: { version_after: NEWER } });
  expect((await slow).text).toContain('whole');
  expect(await service()).toMatchObject({ pid, status: 'running' });
  const supervisor = async () => {
    const { details } = (await agent.get('/v1/status')).json as { details: { supervisor: unknown } };
    return details.supervisor;
  };
  expect(await supervisor()).toEqual({ pid: child.pid, version: program.version });
  child.kill('SIGKILL');
  await expect.poll(supervisor).toBeNull();
});

it('cuts what is in flight when it is forced to, and takes one upgrade at a time', async () => {
  const { dir } = await startSupervisor();
  const { program, agent, upgrade } = await openAgent({}, dir);
  const cut = ask(agent.socket, { method: 'POST', target: '/v1/exec?cmd=sleep&cmd=600' }).catch(() => 'cut');
  await expect.poll(async () => (await agent.get('/v1/exec')).text).toContain('sleep');
  program.install(NEWER);
  const [first, second] = await Promise.all([upgrade('?force=true'), upgrade('?force=true')]);
  expect([first?.status, second?.status].sort()).toEqual([200, 409]);
  expect(await cut).toBe('cut');
  expect(await infoOf(agent)).toMatchObject({ version: NEWER });
});

it('says what is missing where a process cannot be replaced', async () => {
  const { program, agent, upgrade } = await openAgent({ NODE_OPTIONS: '--no-experimental-ffi' });
  program.install(NEWER);
  expect(await upgrade()).toMatchObject({
    status: 501,
    json: { error: 'not_implemented', details: { missing: expect.stringContaining('node:ffi') } },
  });
  expect(await infoOf(agent)).toMatchObject({ version: program.version });
});
