// The upgrade of an agent: the real daemon, from a program whose version changes on the disk.
import { expect, it } from 'vitest';
import { ask } from '../../support/ask.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { copyProgram } from '../../support/program-copy.ts';
import { type RestartedAgent, startRestartedAgent } from '../../support/restarted-agent.ts';
import { startSupervisor } from '../../support/supervisor-process.ts';
import { tempDir } from '../../support/temp-dir.ts';

const NEWER = '99.1.0';

const copied = openOnce(async () => copyProgram());

async function openAgent(env: Readonly<Record<string, string>> = {}, dir = tempDir()) {
  const program = copied();
  program.restore();
  const own = { REMORA_USER: String(process.getuid?.() ?? 0), ...env };
  const agent = await startRestartedAgent(own, dir, program.path);
  const upgrade = (query = '') => agent.ask({ method: 'POST', target: `/v1/upgrade${query}` });
  return { program, agent, upgrade };
}

const infoOf = async (agent: RestartedAgent) => (await agent.get('/info')).json as { version: string };

it('says which version follows, and ends to be started again as that one', async () => {
  const { program, agent, upgrade } = await openAgent();
  program.install(NEWER);
  const { pid } = agent.child;
  expect(await upgrade()).toMatchObject({
    status: 202,
    json: { version_before: program.version, version_after: NEWER },
  });
  await agent.served(1);
  expect(await infoOf(agent)).toMatchObject({ version: NEWER });
  expect(agent.child.pid).not.toBe(pid);
  expect((await agent.get('/v1/status')).json).toMatchObject({ pid: agent.child.pid, generation: 0 });
  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
});

it('goes on when nothing newer is installed', async () => {
  const { agent, upgrade } = await openAgent();
  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
  expect(agent.restarts).toBe(0);
});

it('runs on when the program on the disk does not start', async () => {
  const { program, agent, upgrade } = await openAgent();
  program.install(NEWER);
  program.damage();
  const message = expect.stringMatching(new RegExp(`does not start .*${RegExp.escape(program.damagedFile)}`));
  expect(await upgrade()).toMatchObject({ status: 504, json: { error: 'start_failed', message } });
  expect(agent.restarts).toBe(0);
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
  const { pid } = await eventually(async () => {
    const found = await service();
    return found.status === 'running' && found;
  });
  const slow = ask(agent.socket, { method: 'POST', target: '/v1/exec?cmd=sh&cmd=-c&cmd=sleep+4;echo+whole' });
  await expect.poll(async () => (await agent.get('/v1/exec')).text).toContain('whole');
  program.install(NEWER);
  const answer = await upgrade();
  expect(answer).toMatchObject({ status: 202, json: { version_after: NEWER } });
  expect((await slow).text).toContain('whole');
  await agent.served(1);
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
  expect([first?.status, second?.status].sort()).toEqual([202, 409]);
  expect(await cut).toBe('cut');
  await agent.served(1);
  expect(await infoOf(agent)).toMatchObject({ version: NEWER });
});

it('says what is missing where nobody would start it again', async () => {
  const { program, agent, upgrade } = await openAgent({ REMORA_STARTED_AGAIN: 'false' });
  program.install(NEWER);
  expect(await upgrade()).toMatchObject({
    status: 501,
    json: { error: 'not_implemented', details: { missing: expect.stringContaining('started_again') } },
  });
  expect(await infoOf(agent)).toMatchObject({ version: program.version });
});
