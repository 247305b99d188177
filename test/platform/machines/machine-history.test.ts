// The events of a machine as a list and as a stream, what an exit says, and the restarts that have an end.
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { machineOf } from '../../support/machine-of.ts';
import { machineCommand, openTestPlatform } from '../../support/open-platform.ts';

const opened = openOnce(() => openTestPlatform({ agentCommand: machineCommand() }));
const openedCrashing = openOnce(() => openTestPlatform({ agentCommand: machineCommand('crash-later') }));

const ndjson = { accept: 'application/x-ndjson' };

test('the list has the newest first, with times, sources and ids that grow', async () => {
  const platform = opened();
  const machine = await machineOf(platform, 'listed');
  const before = Date.now();
  await machine.post('start');
  const { json } = await platform.call({ path: `${machine.path}/events?limit=2` });
  expect(json.map(({ type, source }: { type: string; source: string }) => [type, source])).toEqual([
    ['started', 'machine'],
    ['start', 'user'],
  ]);
  expect(Number(json[0].id)).toBe(Number(json[1].id) + 1);
  for (const { timestamp } of json) expect(timestamp).toBeGreaterThanOrEqual(before);
});

test('the stream without follow ends, the oldest first, and goes on after an id', async () => {
  const platform = opened();
  const machine = await machineOf(platform, 'streamed');
  await machine.post('start');
  const whole = await platform.call({ path: `${machine.path}/events`, headers: ndjson });
  const lines = whole.text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ type }) => type)).toEqual(['start', 'started']);
  const rest = await platform.call({ path: `${machine.path}/events?after=${lines[0].id}`, headers: ndjson });
  expect(JSON.parse(rest.text)).toEqual(lines[1]);
});

test('a follower gets each event once, in order, and its stream ends with the machine', async () => {
  const platform = opened();
  const machine = await machineOf(platform, 'followed');
  const following = platform.call({ path: `${machine.path}/events?follow=true`, headers: ndjson });
  await machine.post('start');
  expect(await machine.suspend()).toBe(200);
  await machine.post('start');
  expect(await machine.stop()).toBe(200);
  await platform.call({ method: 'DELETE', path: '/v1/sprites/followed' });
  const lines = (await following).text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  const events = lines.filter(({ id }) => id !== undefined);
  expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, index) => index + 1));
  expect(events.map(({ type }) => type).slice(0, 8)).toEqual([
    'start',
    'started',
    'suspend',
    'suspended',
    'resume',
    'started',
    'stop',
    'exit',
  ]);
});

test('of another organization nothing is to be seen', async () => {
  const platform = opened();
  const machine = await machineOf(platform, 'hidden');
  await platform.admin.createOrganization('other');
  const token = await platform.admin.createToken({ organization: 'other' });
  expect((await platform.call({ path: `${machine.path}/events`, token })).status).toBe(404);
});

test('an exit says how it ended, and a suspend that a start called off is told', async () => {
  // The start comes before the freeze, also on a machine with much other work.
  const platform = await openTestPlatform({ agentCommand: machineCommand(), freezeDelay_ms: 60_000 });
  const machine = await machineOf(platform, 'ended', { restart: { policy: 'no' } });
  await machine.post('start');
  const { pid } = await machine.report();
  await machine.post('suspend');
  await machine.post('start');
  expect(await machine.events()).toContain('suspend_cancelled running');
  process.kill(pid, 'SIGKILL');
  expect(await machine.wait('state=stopped')).toBe(200);
  const { json } = await platform.call({ path: `${machine.path}/events?limit=1` });
  expect(json[0]).toMatchObject({
    type: 'exit',
    source: 'machine',
    exit: { exit_code: null, signal: 'SIGKILL', requested: false },
  });
});

test('a machine that crashes is started again as often as it may be, then it has failed, and a start begins the count again', async () => {
  const crashing = openedCrashing();
  const machine = await machineOf(crashing, 'failing', { restart: { policy: 'on-failure', max_retries: 2 } });
  await machine.post('start');
  expect(await machine.wait('state=failed')).toBe(200);
  const starts = (await machine.events()).filter((event) => event.startsWith('start '));
  expect(starts.length).toBe(3);
  expect((await machine.events()).slice(-2)).toEqual(['exit failed', 'fail failed']);
  // Who waits for what cannot come is told at once.
  expect(await machine.wait('state=running')).toBe(409);
  expect((await machine.post('start')).json).toMatchObject({ previous_state: 'failed' });
  expect(await machine.wait('state=failed')).toBe(200);
  expect((await machine.events()).filter((event) => event.startsWith('start ')).length).toBe(6);
});

test('a machine that is to be destroyed after its end is gone then', async () => {
  const crashing = openedCrashing();
  const machine = await machineOf(crashing, 'once', { restart: { policy: 'no' }, auto_destroy: true });
  await machine.post('start');
  await eventually(async () => (await crashing.call({ path: machine.path })).status === 404);
});

test('a machine of its own that destroys itself leaves no sprite behind', async () => {
  const crashing = openedCrashing();
  const config = { restart: { policy: 'no' }, auto_destroy: true };
  const made = { path: '/v1/apps/acme/machines', body: { config, skip_launch: true } };
  const { json } = await crashing.call({ method: 'POST', ...made });
  const db = new Database(join(crashing.dir, 'platform.db'), { readonly: true });
  const sprites = () => db.prepare('SELECT count(*) AS count FROM sprites WHERE name = ?').get(json.id);
  expect(sprites()).toEqual({ count: 1 });
  await crashing.call({ method: 'POST', path: `${made.path}/${json.id}/start` });
  await eventually(async () => (await crashing.call({ path: `${made.path}/${json.id}` })).status === 404);
  expect(sprites()).toEqual({ count: 0 });
  db.close();
});
