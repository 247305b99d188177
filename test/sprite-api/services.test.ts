// Services of a sprite from the platform, through the channel, the agent and the supervisor, by the client of the Sprites API.
import { SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { eventually } from '../support/eventually.ts';
import { runningPid } from '../support/sdk/running-pid.ts';

async function openSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  return { machine, sprite: client.sprite('dev-1') };
}

async function read(stream: AsyncIterable<{ type: string; data?: string | undefined }>) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

test('a service is made, followed, stopped, started and deleted by the client', async () => {
  const { sprite } = await openSprite();
  const config = { cmd: 'sh', args: ['-c', 'echo up; exec sleep 600'] };
  const made = await read(await sprite.createService('web', config, '2s'));
  expect(made.map(({ type }) => type)).toEqual(['started', 'stdout', 'complete']);
  expect(made[1]?.data).toMatch(/^up\n?$/);
  expect(await sprite.getService('web')).toMatchObject({ name: 'web', cmd: 'sh', state: { status: 'running' } });
  expect(await sprite.listServices()).toHaveLength(1);
  const stopped = await read(await sprite.stopService('web', '5s'));
  expect(stopped.map(({ type }) => type)).toEqual(['stopping', 'stopped', 'complete']);
  await read(await sprite.startService('web', '1s'));
  await sprite.signalService('web', 'SIGTERM');
  await eventually(async () => ((await sprite.getService('web')).state?.restartCount ?? 0) > 0 || undefined);
  await read(await sprite.restartService('web', '1s'));
  expect((await read(await sprite.getServiceLogs('web', { lines: 10, duration: '1s' }))).length).toBeGreaterThan(2);
  await sprite.deleteService('web');
  await expect(sprite.getService('web')).rejects.toThrow('Service not found');
});

test('the same operations are on the socket of the agent', async () => {
  const { machine, sprite } = await openSprite();
  await read(await sprite.createService('one', { cmd: 'sleep', args: ['600'] }, '1s'));
  const list = async () => (await ask(machine.socket, { target: '/v1/services' })).json;
  await expect.poll(list).toMatchObject([{ name: 'one', state: { status: 'running' } }]);
});

test('a call wakes a suspended machine, and boots a stopped one', async () => {
  const { machine, sprite } = await openSprite();
  await read(await sprite.createService('one', { cmd: 'sleep', args: ['600'] }, '1s'));
  expect((await machine.post('suspend')).status).toBe(200);
  expect((await machine.wait('state=suspended')).status).toBe(200);
  const pid = await runningPid(sprite, 'one');
  expect((await machine.post('stop')).status).toBe(200);
  expect((await machine.wait('state=stopped')).status).toBe(200);
  expect(await runningPid(sprite, 'one')).not.toBe(pid);
});

test('without trust in machines of this driver nothing is reached', async () => {
  const machine = await openAgentMachine();
  const answer = await machine.platform.call({ path: '/v1/sprites/dev-1/services' });
  expect([answer.status, answer.json.error]).toEqual([501, 'not_isolated']);
});

test('a token that only reads, and the token of the sprite, reach nothing', async () => {
  const { machine } = await openSprite();
  const { admin } = machine.platform;
  const reading = await admin.createToken({ organization: 'acme', access: 'read' });
  const own = await machine.spriteToken();
  for (const token of [reading, own]) {
    expect((await machine.platform.call({ path: '/v1/sprites/dev-1/services', token })).status).toBe(403);
  }
});
