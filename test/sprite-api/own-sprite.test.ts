// What a machine asks of its platform about itself, over the socket of its agent: checkpoints and policies.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openAgentMachine } from '../support/agent-machine.ts';
import { startAgent } from '../support/agent-process.ts';
import { ask } from '../support/ask.ts';
import { readLines } from '../support/read-lines.ts';

const JSON_TYPE = { 'content-type': 'application/json' };

/** The machine, and calls to the socket of its agent. */
async function openOwnSprite() {
  const machine = await openAgentMachine({ trustMachines: true });
  const call = (method: string, target: string, body?: string) =>
    ask(machine.socket, { method, target, headers: JSON_TYPE, ...(body === undefined ? {} : { body }) });
  return { machine, call, file: join(machine.dir, 'home', 'file') };
}

const typesOf = (text: string) => [
  ...new Set(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line).type),
  ),
];

test('a machine makes, lists, reads and deletes its own checkpoints', async () => {
  const { machine, call, file } = await openOwnSprite();
  writeFileSync(file, 'one');
  const made = await call('POST', '/v1/checkpoint', '{"comment":"from inside"}');
  expect([made.status, typesOf(made.text)]).toEqual([200, ['info', 'complete']]);
  await call('POST', '/v1/checkpoint');
  const listed = (await call('GET', '/v1/checkpoints')).json as { id: string }[];
  expect(listed.map(({ id }) => id)).toEqual(['v0', 'v1']);
  expect((await call('GET', '/v1/checkpoints?history=v0')).json).toMatchObject([{ id: 'v0' }]);
  expect((await call('GET', '/v1/checkpoints/v0')).json).toMatchObject({ id: 'v0', comment: 'from inside' });
  expect((await call('DELETE', '/v1/checkpoints/v0')).status).toBe(204);
  expect((await machine.platform.call({ path: '/v1/sprites/dev-1/checkpoints' })).json).toMatchObject([{ id: 'v1' }]);
  for (const [method, target, status, error] of [
    ['GET', '/v1/checkpoints/v0', 404, 'not_found'],
    ['GET', '/v1/checkpoints/first', 400, 'invalid_request'],
    ['DELETE', '/v1/checkpoints/v1', 409, 'conflict'],
    ['POST', '/v1/checkpoints/v7/restore', 404, 'not_found'],
  ] as const) {
    expect(await call(method, target)).toMatchObject({ status, json: { error } });
  }
});

test('a restore from inside says that the connection ends, and goes on without it', async () => {
  const { machine, call, file } = await openOwnSprite();
  writeFileSync(file, 'one');
  await call('POST', '/v1/checkpoint');
  writeFileSync(file, 'two');
  const { pid } = await machine.status();
  const lines = await readLines('/v1/checkpoints/v0/restore', machine.socket, 'POST');
  const said: string[] = [];
  for (let line = await lines.next(); ; line = await lines.next()) {
    said.push(String(line.data));
    if (said.at(-1)?.includes('ends now')) break;
  }
  await lines.ended;
  await expect.poll(() => readFileSync(file, 'utf8')).toBe('one');
  await expect.poll(async () => (await machine.status()).pid).not.toBe(pid);
  expect(existsSync(`/proc/${pid}`)).toBe(false);
});

test('policies are read inside, and set at the platform alone', async () => {
  const { call } = await openOwnSprite();
  expect((await call('GET', '/v1/policy/network')).json).toEqual({ rules: [] });
  expect((await call('GET', '/v1/policy/privileges')).json).toEqual({});
  expect((await call('GET', '/v1/policy/resources')).json).toEqual({});
  for (const [method, target, body] of [
    ['POST', '/v1/policy/network', '{"rules":[]}'],
    ['POST', '/v1/policy/privileges', '{}'],
    ['DELETE', '/v1/policy/privileges', undefined],
    ['POST', '/v1/policy/resources', '{}'],
    ['DELETE', '/v1/policy/resources', undefined],
  ] as const) {
    expect(await call(method, target, body)).toMatchObject({ status: 403, json: { error: 'forbidden' } });
  }
});

test('the token of a machine and that of its sprite open its own sprite only', async () => {
  const { machine } = await openOwnSprite();
  await machine.platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
  for (const token of [machine.machineToken(), await machine.spriteToken()]) {
    const call = (name: string, method = 'GET', path = 'checkpoints') =>
      machine.platform.call({ method, path: `/v1/sprites/${name}/${path}`, token });
    expect((await call('dev-1')).status).toBe(200);
    for (const [method, path] of [
      ['GET', 'checkpoints'],
      ['POST', 'checkpoint'],
      ['POST', 'checkpoints/v0/restore'],
      ['DELETE', 'checkpoints/v0'],
      ['GET', 'policy/network'],
    ] as const) {
      expect(await call('dev-2', method, path)).toMatchObject({ status: 403, json: { error: 'forbidden' } });
      expect((await call('no-such', method, path)).status).toBe(403);
    }
  }
});

test('without a platform the agent says which setting is missing', async () => {
  const agent = await startAgent({ REMORA_SPRITE: 'dev-1' });
  for (const target of ['/v1/checkpoints', '/v1/checkpoints/v0']) {
    expect(await agent.get(target)).toMatchObject({
      status: 503,
      json: { error: 'not_configured', message: expect.stringContaining('REMORA_BASE_URL and REMORA_TOKEN') },
    });
  }
});
