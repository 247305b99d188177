// The upgrade of a sprite's agent through its platform: with a machine that runs, is suspended, and is stopped.
import { SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { openOnce } from '../support/at-end.ts';
import { copyProgram } from '../support/program-copy.ts';
import { runRemora } from '../support/run-remora.ts';
import { runningPid } from '../support/sdk/running-pid.ts';

const PATH = '/v1/sprites/dev-1/upgrade';

const copied = openOnce(async () => copyProgram());

async function openSprite(trustMachines = true) {
  const program = copied();
  program.restore();
  const agentCommand = { command: process.execPath, args: [program.path, 'agent'] };
  const machine = await openAgentMachine({ trustMachines, agentCommand });
  await machine.channel();
  return {
    program,
    machine,
    upgrade: (query = '') => machine.platform.call({ method: 'POST', path: `${PATH}${query}` }),
    async move(action: 'suspend' | 'stop', state: string) {
      expect((await machine.post(action)).status).toBe(200);
      expect((await machine.wait(`state=${state}`)).status).toBe(200);
    },
  };
}

test('a machine that runs goes on with the new agent: its channel is back, and its service has not noticed', async () => {
  const { program, machine, upgrade } = await openSprite();
  const sprite = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url }).sprite('dev-1');
  for await (const _ of await sprite.createService('kept', { cmd: 'sleep', args: ['600'] }, '1s'));
  const pid = await runningPid(sprite, 'kept');
  const before = await machine.status();
  program.install('99.1.0');
  const answer = await upgrade();
  expect(answer).toMatchObject({
    status: 200,
    json: { version_before: program.version, version_after: '99.1.0' },
  });
  const { pid: agentPid, generation, incarnation } = before;
  const after = await machine.status();
  expect(after).toMatchObject({ version: '99.1.0', generation, incarnation });
  expect(after.pid).not.toBe(agentPid);
  expect((await sprite.getService('kept')).state).toMatchObject({ pid, status: 'running' });
  expect((await ask(machine.socket, { target: '/info' })).json).toEqual({
    sprite_id: expect.any(String),
    sprite_name: 'dev-1',
    sprite_url: expect.stringContaining('dev-1'),
    version: '99.1.0',
    org: 'acme',
  });
  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
  await sprite.upgrade();

  program.install('99.2.0');
  await sprite.upgrade();
  expect(await machine.status()).toMatchObject({ version: '99.2.0', generation, incarnation });
});

test('one that is suspended is woken and upgraded, and one that is stopped boots as the new agent', async () => {
  const { program, machine, upgrade, move } = await openSprite(false);
  await move('suspend', 'suspended');
  program.install('99.1.0');
  expect(await upgrade()).toMatchObject({ status: 200, json: { version_after: '99.1.0' } });
  await move('stop', 'stopped');
  program.install('99.2.0');
  expect(await upgrade()).toMatchObject({ status: 204, text: '' });
  expect(await machine.status()).toMatchObject({ version: '99.2.0' });
});

test('what the agent refuses is refused with its words, and a sprite does not upgrade itself at the platform', async () => {
  const { program, machine, upgrade } = await openSprite();
  program.install('99.1.0');
  program.damage();
  expect(await upgrade()).toMatchObject({
    status: 504,
    json: { error: 'start_failed', message: expect.stringContaining('does not start') },
  });
  expect(await upgrade('?force=perhaps')).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  const token = machine.machineToken();
  expect(await machine.platform.call({ method: 'POST', path: PATH, token })).toMatchObject({ status: 403 });
});

test('remora upgrade says which version serves, from outside and within', async () => {
  const { program, machine } = await openSprite();
  const { platform, socket } = machine;
  const outside = {
    HOME: '/nonexistent',
    REMORA_URL: platform.url,
    REMORA_API_TOKEN: platform.token.reveal(),
    REMORA_SPRITE: 'dev-1',
  };
  program.install('99.1.0');
  const done = await runRemora(['upgrade'], { env: outside });
  expect(done).toEqual({
    code: 0,
    stdout: `the agent was ${program.version} and is started again as 99.1.0\n`,
    stderr: '',
  });
  const within = { HOME: '/nonexistent', REMORA_SOCKET: socket };
  const again = await runRemora(['upgrade'], { env: within });
  expect(again).toEqual({ code: 0, stdout: 'nothing newer is installed\n', stderr: '' });
  const none = await runRemora(['upgrade', '--json'], { env: outside });
  expect(JSON.parse(none.stdout)).toEqual({ message: 'nothing newer is installed' });
  program.install('99.2.0');
  const json = await runRemora(['upgrade', '--force', '--json'], { env: within });
  expect(JSON.parse(json.stdout)).toMatchObject({ version_before: '99.1.0', version_after: '99.2.0' });
});
