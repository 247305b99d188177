// Checkpoints of a sprite by the client of the Sprites API, with a machine that runs, is suspended, and is stopped.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SpritesClient } from '@fly/sprites';
import { expect, test } from 'vitest';
import { readPauseFile } from '../../src/linux/kernel/pause-file.ts';
import { readProcess } from '../../src/linux/processes/process-table.ts';
import { openAgentMachine } from '../support/agent-machine.ts';
import { ask } from '../support/ask.ts';
import { atEnd } from '../support/at-end.ts';
import { eventually } from '../support/eventually.ts';
import { isGone } from '../support/left-machines.ts';
import { memoryDir } from '../support/memory-dir.ts';
import type { TestPlatformOptions } from '../support/open-platform.ts';
import { readOf } from '../support/processes-of.ts';
import { runningPid } from '../support/sdk/running-pid.ts';
import { tempDir } from '../support/temp-dir.ts';

/** A process that stands still for so long has seen a resume, unless it is told otherwise. */
const LONG_MS = 1_700;

async function openSprite(dir = memoryDir(), options: TestPlatformOptions = {}) {
  const machine = await openAgentMachine({ trustMachines: true, dir, ...options });
  const client = new SpritesClient(machine.platform.token.reveal(), { baseURL: machine.platform.url });
  const path = '/v1/sprites/dev-1/checkpoints';
  return {
    machine,
    client,
    sprite: client.sprite('dev-1'),
    home: (...names: readonly string[]) => join(machine.dir, 'home', ...names),
    recent: (...names: readonly string[]) => join(machine.dir, 'recent-checkpoints', ...names),
    make: () => machine.platform.call({ method: 'POST', path: '/v1/sprites/dev-1/checkpoint' }),
    restore: (id: string) => machine.platform.call({ method: 'POST', path: `${path}/${id}/restore` }),
    read: (id: string) => machine.platform.call({ path: `${path}/${id}` }),
    remove: (id: string) => machine.platform.call({ method: 'DELETE', path: `${path}/${id}` }),
    async state() {
      return (await machine.platform.call({ path: `/v1/apps/acme/machines/${machine.id}` })).json.state;
    },
    async instance() {
      return (await machine.platform.call({ path: `/v1/apps/acme/machines/${machine.id}` })).json.instance_id;
    },
    async move(action: 'suspend' | 'stop', state: string) {
      expect((await machine.post(action)).status).toBe(200);
      expect((await machine.wait(`state=${state}`)).status).toBe(200);
    },
  };
}

async function types(stream: AsyncIterable<{ type: string }>) {
  const found = [];
  for await (const { type } of stream) found.push(type);
  return [...new Set(found)];
}

test('a machine that runs is kept and restored with its files and services, and boots cold', async () => {
  const { machine, sprite, home, recent, state, instance } = await openSprite();
  const booted = await instance();
  writeFileSync(home('file'), 'one');
  const sleeper = { cmd: 'sleep', args: ['600'] };
  for await (const _ of await sprite.createService('first', sleeper, '0s'));
  const before = await machine.status();
  expect(await types(await sprite.createCheckpoint('with a comment'))).toEqual(['info', 'complete']);
  // It stood still for the copy, however long, and that was no resume.
  const expectSame = async () => {
    const { generation, incarnation } = await machine.status();
    expect([generation, incarnation]).toEqual([before.generation, before.incarnation]);
  };
  await expectSame();
  expect(await state()).toBe('running');
  expect(await sprite.getCheckpoint('v0')).toMatchObject({
    id: 'v0',
    comment: 'with a comment',
    isAuto: false,
    health: '',
  });
  expect(readFileSync(recent('v0', 'file'), 'utf8')).toBe('one');
  // Neither services nor anything of the agent is in what programs read.
  expect(readdirSync(recent('v0'))).toEqual(['file']);

  writeFileSync(home('file'), 'two');
  await sprite.deleteService('first');
  for await (const _ of await sprite.createService('second', sleeper, '0s'));
  const pid = await runningPid(sprite, 'second');
  expect(await types(await sprite.restoreCheckpoint('v0'))).toEqual(['info', 'complete']);
  expect(readFileSync(home('file'), 'utf8')).toBe('one');
  expect(isGone(pid)).toBe(true);
  expect(await state()).toBe('running');
  const services = async () => (await sprite.listServices()).map(({ name, state: { status } = {} }) => [name, status]);
  await expect.poll(services).toEqual([['first', 'running']]);
  expect(await instance()).not.toBe(booted);
  // The agent went on with its own state.
  await expectSame();

  const all = await sprite.listCheckpoints();
  expect(all.map(({ id, isAuto, sourceId }) => [id, isAuto, sourceId])).toEqual([
    ['v0', false, undefined],
    ['v1', true, 'v0'],
  ]);
  expect(readFileSync(recent('v1', 'file'), 'utf8')).toBe('two');
  // Back to what was there before the restore.
  await types(await sprite.restoreCheckpoint('v1'));
  expect(readFileSync(home('file'), 'utf8')).toBe('two');
  await expect.poll(services).toEqual([['second', 'running']]);
});

/** Runs `happen` when the machine stands still and the rest of its files is about to be copied. */
function whenStill(happen: () => void): TestPlatformOptions {
  const ignore = () => undefined;
  const debug = (fields: object) => {
    if ('step' in fields && fields.step === 'copy what stands still') happen();
  };
  return { log: { debug, info: ignore, warn: ignore, error: ignore, fatal: ignore } };
}

test('to stand still for seconds is no resume: the call of a program in the machine is answered whole', async () => {
  const isCopier = (pid: number) =>
    readProcess(pid)?.parent === process.pid && /tree.main/.test(readOf(pid, 'cmdline'));
  const options = whenStill(() => {
    const copier = Number(readdirSync('/proc').find((name) => isCopier(Number(name))));
    process.kill(copier, 'SIGSTOP');
    setTimeout(() => process.kill(copier, 'SIGCONT'), LONG_MS);
  });
  const { machine, move } = await openSprite(memoryDir(), options);
  await machine.channel();
  const before = await machine.status();
  const made = await ask(machine.socket, { method: 'POST', target: '/v1/checkpoint' });
  expect([made.status, made.text]).toEqual([200, expect.stringContaining('"complete"')]);
  const after = await machine.status();
  expect([after.generation, after.incarnation]).toEqual([before.generation, before.incarnation]);
  const { stalls } = after.details.resume;
  expect([stalls.held, stalls.longest_ms > LONG_MS]).toEqual([1, true]);
  expect(await machine.channel()).toMatchObject({ opened: 1 });
  // A suspend of the same length is one.
  await move('suspend', 'suspended');
  await sleep(LONG_MS);
  await machine.post('start');
  await expect.poll(async () => (await machine.status()).generation).toBe(before.generation + 1);
  expect(readPauseFile(join(machine.dir, 'pauses'))).toEqual({ copies: 1, resumes: 1 });
});

test.each([
  ['suspend', 'suspended'],
  ['stop', 'stopped'],
] as const)(
  'after a %s the machine is not woken for a checkpoint, and is stopped after a restore',
  async (action, at) => {
    const { sprite, home, move, state } = await openSprite();
    writeFileSync(home('file'), 'one');
    await move(action, at);
    await types(await sprite.createCheckpoint());
    expect(await sprite.listCheckpoints()).toHaveLength(1);
    expect(await state()).toBe(at);
    writeFileSync(home('file'), 'two');
    await types(await sprite.restoreCheckpoint('v0'));
    expect(await state()).toBe('stopped');
    expect((await sprite.execFile('cat', ['file'])).stdout).toBe('one');
  },
);

test('a sprite whose machine never ran has checkpoints too', async () => {
  const { machine, client } = await openSprite();
  await machine.platform.admin.createSprite({ organization: 'acme', name: 'dev-2' });
  const sprite = client.sprite('dev-2');
  expect(await sprite.listCheckpoints()).toEqual([]);
  expect(await types(await sprite.createCheckpoint())).toEqual(['info', 'complete']);
  expect((await sprite.execFile('ls', ['-A'])).stdout).toBe('');
  await client.deleteSprite('dev-2');
});

test('the one that the files come from stays, others can be deleted, and no id comes again', async () => {
  const { client, sprite, machine, make, remove, restore, read } = await openSprite();
  await make();
  await make();
  expect([(await remove('v1')).status, (await remove('v1')).json.error]).toEqual([409, 'conflict']);
  expect((await remove('v0')).status).toBe(204);
  expect((await remove('v0')).status).toBe(404);
  expect((await read('v0')).json.error).toBe('not_found');
  expect((await restore('v0')).json.error).toBe('not_found');
  await expect(sprite.getCheckpoint('v0')).rejects.toThrow('Checkpoint not found');
  expect((await read('x')).status).toBe(400);
  await make();
  await restore('v1');
  expect((await remove('v2')).status).toBe(204);
  await make();
  const list = await machine.platform.call({ path: '/v1/sprites/dev-1/checkpoints' });
  expect(list.json.map(({ id }: { id: string }) => id)).toEqual(['v1', 'v3', 'v4']);
  const history = await sprite.listCheckpoints('v4');
  expect(history.map(({ id }) => id)).toEqual(['v1', 'v4']);
  await client.deleteSprite('dev-1');
  expect(existsSync(machine.dir)).toBe(false);
});

test('five automatic ones are kept', async () => {
  const { make, restore, sprite, home, move } = await openSprite();
  await move('stop', 'stopped');
  await make();
  for (let each = 0; each < 7; each += 1) {
    writeFileSync(home('file'), String(each));
    expect((await restore('v0')).text).toContain('"complete"');
  }
  expect((await sprite.listCheckpoints()).map(({ id }) => id)).toEqual(['v0', 'v3', 'v4', 'v5', 'v6', 'v7']);
});

test('a second one meanwhile is refused', async () => {
  const { make, home, machine, restore } = await openSprite();
  mkdirSync(home('many'));
  for (let each = 0; each < 2_000; each += 1) writeFileSync(home('many', String(each)), 'x');
  const answers = await Promise.all([make(), make()]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect(answers.find(({ status }) => status === 409)?.json).toMatchObject({ error: 'conflict' });
  const both = await Promise.all([restore('v0'), make()]);
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  expect((await machine.platform.call({ path: '/v1/sprites/dev-1/checkpoints' })).status).toBe(200);
});

test('nothing runs during the copy: files that a program writes in turn are kept as they were at one moment', async () => {
  const { sprite, make, recent, home } = await openSprite();
  const dirs = ['a', 'b', 'c', 'd', 'e', 'f'];
  for (const dir of dirs) {
    mkdirSync(home(dir));
    for (let each = 0; each < 200; each += 1) writeFileSync(home(dir, String(each)), 'x');
  }
  const loop = `i=0; while :; do i=$((i+1)); for d in ${dirs.join(' ')}; do echo $i > $d/now~; mv $d/now~ $d/now; done; done`;
  for await (const _ of await sprite.createService('writer', { cmd: 'sh', args: ['-c', loop] }, '0s'));
  await eventually(() => existsSync(home('f', 'now')) || undefined);
  for (const id of ['v0', 'v1', 'v2']) {
    await make();
    const counts = dirs.map((dir) => Number(readFileSync(recent(id, dir, 'now'), 'utf8')));
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  }
});

test.runIf(process.geteuid?.() === 0)('a full disk is 507 and changes nothing', async () => {
  const dir = tempDir();
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=0700', 'none', dir]);
  atEnd(() => execFileSync('umount', ['-l', dir]));
  const { make, restore, home, state, sprite } = await openSprite(dir);
  await make();
  writeFileSync(home('large'), Buffer.alloc(30 * 1024 ** 2, 1));
  expect([(await make()).status, (await make()).json.error]).toEqual([507, 'storage_full']);
  expect((await restore('v0')).text).toContain('storage_full');
  expect(readFileSync(home('large')).length).toBe(30 * 1024 ** 2);
  expect(await state()).toBe('running');
  expect(await sprite.listCheckpoints()).toHaveLength(1);
  rmSync(home('large'));
  expect((await restore('v0')).text).toContain('"complete"');
});

test('a token of the organization needs full access, and machines must be trusted', async () => {
  const { machine, make } = await openSprite();
  await make();
  const { platform } = machine;
  const reading = await platform.admin.createToken({ organization: 'acme', access: 'read' });
  const path = '/v1/sprites/dev-1/checkpoints';
  expect((await platform.call({ path, token: reading })).status).toBe(403);
  expect((await platform.call({ method: 'POST', path: `${path}/v0/restore`, token: reading })).status).toBe(403);
  expect((await platform.call({ method: 'DELETE', path: `${path}/v0`, token: reading })).status).toBe(403);
  await platform.admin.createOrganization('other');
  const other = await platform.admin.createToken({ organization: 'other' });
  expect((await platform.call({ path: `${path}/v0`, token: other })).status).toBe(404);
  const strict = await openAgentMachine();
  const answer = await strict.platform.call({ path });
  expect([answer.status, answer.json.error]).toEqual([501, 'not_isolated']);
});

test('a sprite that is deleted while it is copied leaves nothing', async () => {
  const { make, machine, client, home } = await openSprite();
  mkdirSync(home('many'));
  for (let each = 0; each < 5_000; each += 1) writeFileSync(home('many', String(each)), 'x');
  const making = make();
  await eventually(() => existsSync(join(machine.dir, 'checkpoints')) || undefined);
  await client.deleteSprite('dev-1');
  expect([404, 409]).toContain((await making).status);
  await eventually(() => !existsSync(machine.dir) || undefined);
});
