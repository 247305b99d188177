import { spawn } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createHoldHandlers } from '../../../src/agent/holds/hold-handlers.ts';
import { createHolds } from '../../../src/agent/holds/holds.ts';
import { storeMigrations } from '../../../src/agent/store-migrations.ts';
import { taskOperations } from '../../../src/contract/local/tasks.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { createRunClock } from '../../../src/core/run-clock.ts';
import { openDatabase } from '../../../src/sqlite/open.ts';
import { ask } from '../../support/ask.ts';
import { serveEdge } from '../../support/serve-edge.ts';
import { silentLog } from '../../support/silent-log.ts';
import { tempDir } from '../../support/temp-dir.ts';

const { idle: _idle, ...operations } = taskOperations;

async function setUp(dir = tempDir()) {
  const { db } = openDatabase(join(dir, 'agent.db'), { migrations: storeMigrations });
  const hub = createEventHub({
    clock: systemClock,
    generation: () => 0,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  const events: { type: string; name?: unknown; reason?: unknown }[] = [];
  hub.subscribe({ onEvent: ({ type, name, reason }) => events.push({ type, name, reason }) });
  const holds = createHolds({
    clock: systemClock,
    runClock: createRunClock(systemClock),
    hub,
    db,
    log: silentLog,
    check: () => undefined,
  });
  holds.start();
  onTestFinished(() => {
    holds[Symbol.dispose]();
    db.close();
  });
  const { path: socket } = await serveEdge(operations, createHoldHandlers(holds));
  const call = (method: string, target: string, body?: object) =>
    ask(socket, {
      method,
      target,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    });
  return { call, holds, events, socket };
}

describe('/v1/tasks', () => {
  it('makes, shows, renews and lets go of a hold', async () => {
    const { call } = await setUp();
    const made = await call('POST', '/v1/tasks', { name: 'build', expire: '30m', reason: 'compiling' });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({
      name: 'build',
      expire: 1_800,
      mode: 'block',
      reason: 'compiling',
      connection: false,
    });
    expect((await call('POST', '/v1/tasks', { name: 'build', expire: 5 })).status).toBe(409);
    expect((await call('PUT', '/v1/tasks/build', { expire: 60 })).json).toMatchObject({ expire: 60 });
    expect((await call('GET', '/v1/tasks/build')).status).toBe(200);
    expect((await call('GET', '/v1/tasks')).json).toMatchObject({ tasks: [{ name: 'build' }] });
    expect((await call('DELETE', '/v1/tasks/build')).status).toBe(204);
    expect((await call('DELETE', '/v1/tasks/build')).status).toBe(404);
    expect((await call('GET', '/v1/tasks/build')).status).toBe(404);
  });

  it.each([18_000, '5h', 3_601, 1e9, '3601s'])('refuses a hold of %j, and says the limit', async (expire) => {
    const { call } = await setUp();
    for (const [method, target] of [
      ['PUT', '/v1/tasks/long'],
      ['POST', '/v1/tasks'],
    ] as const) {
      expect(await call(method, target, { name: 'long', expire })).toMatchObject({
        status: 400,
        json: { error: 'invalid_request', message: expect.stringMatching(/body\.expire.*at most 1 hour/) },
      });
    }
    expect((await call('PUT', '/v1/tasks/long', { expire: '1h' })).json).toMatchObject({ expire: 3_600 });
  });

  it('says when to try again once there are too many', async () => {
    const { call } = await setUp();
    for (let n = 0; n < 1_000; n += 1) await call('PUT', `/v1/tasks/hold-${n}`, { expire: 600 });
    const answer = await call('POST', '/v1/tasks', { name: 'one-more', expire: 600 });
    expect(answer).toMatchObject({ status: 429, json: { error: 'too_many_requests' } });
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
  });

  it.each([
    ['no expiry', { name: 'x' }, 'body.expire'],
    ['an expiry that is none', { name: 'x', expire: 'soon' }, 'body.expire'],
    ['a name with a slash', { name: 'a/b', expire: 5 }, 'body.name'],
    ['a pid that does not run', { name: 'x', expire: 5, pid: 4_194_304 }, 'body.pid'],
    ['an unknown mode', { name: 'x', expire: 5, mode: 'hard' }, 'body.mode'],
  ])('refuses %s and names the field', async (_case, body, field) => {
    const { call } = await setUp();
    const answer = await call('POST', '/v1/tasks', body);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ error: 'invalid_request', details: { fields: [{ field }] } });
  });
});

describe('a hold that ends by itself', () => {
  it('ends within a second of its process', async () => {
    const { call, events } = await setUp();
    const child = spawn('sleep', ['60']);
    onTestFinished(() => void child.kill('SIGKILL'));
    await call('PUT', '/v1/tasks/job', { expire: 600, pid: child.pid });
    child.kill('SIGKILL');
    await expect.poll(async () => (await call('GET', '/v1/tasks/job')).status).toBe(404);
    expect(events).toContainEqual({ type: 'hold_released', name: 'job', reason: 'process_gone' });
  });

  it('ends with its time', async () => {
    const { call, events } = await setUp();
    await call('PUT', '/v1/tasks/short', { expire: 1 });
    await expect
      .poll(() => events)
      .toContainEqual({
        type: 'hold_released',
        name: 'short',
        reason: 'expired',
      });
  });

  it('ends with its connection', async () => {
    const { call, socket, events } = await setUp();
    const controller = new AbortController();
    const stream = request({
      socketPath: socket,
      path: '/v1/tasks/job/stream?reason=backup',
      signal: controller.signal,
    });
    stream.on('error', () => undefined);
    stream.end();
    await expect
      .poll(async () => (await call('GET', '/v1/tasks/job')).json)
      .toMatchObject({
        connection: true,
        reason: 'backup',
      });
    expect((await call('PUT', '/v1/tasks/job', { expire: 5 })).status).toBe(409);
    controller.abort();
    await expect.poll(async () => (await call('GET', '/v1/tasks/job')).status).toBe(404);
    expect(events).toContainEqual({ type: 'hold_released', name: 'job', reason: 'connection_closed' });
  });
});

it('keeps holds across a restart of the agent, with the time they had left', async () => {
  const dir = tempDir();
  const first = await setUp(dir);
  await first.call('PUT', '/v1/tasks/kept', { expire: 600, reason: 'restart', pid: process.pid });
  await first.call('PUT', '/v1/tasks/gone', { expire: 600 });
  await first.call('DELETE', '/v1/tasks/gone');
  first.holds[Symbol.dispose]();
  const second = await setUp(dir);
  const { tasks } = (await second.call('GET', '/v1/tasks')).json as { tasks: { name: string; expire: number }[] };
  expect(tasks).toMatchObject([{ name: 'kept', reason: 'restart', pid: process.pid }]);
  expect(tasks[0]?.expire).toBeGreaterThan(590);
});
