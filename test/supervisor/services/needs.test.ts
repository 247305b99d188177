// What services need of each other: the order of starts, what is refused, and what happens when something needed does not run.
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { ServiceResponse } from '../../../src/contract/services.ts';
import { eventually } from '../../support/eventually.ts';
import { serveServices } from '../../support/serve-services.ts';
import { findPids, toEvents } from '../../support/supervisor-process.ts';

const sleeper = (needs: readonly string[] = []) => ({ cmd: 'sleep', args: ['60'], needs });
const put = '?duration=0';
/** Far more than a hundred starts take. */
const LIMIT_MS = 60_000;

test('a cycle is refused and named, so is what is missing; the definitions stay as they were', async () => {
  const { call, states } = await serveServices();
  const missing = await call('PUT', `/web${put}`, sleeper(['db']));
  expect([missing.status, missing.json]).toMatchObject([400, { message: expect.stringContaining('web needs db') }]);
  await call('PUT', `/db${put}`, sleeper());
  await call('PUT', `/web${put}`, sleeper(['db']));
  const cycle = await call('PUT', `/db${put}`, sleeper(['web']));
  expect([cycle.status, cycle.json]).toMatchObject([400, { error: 'invalid_request' }]);
  expect(cycle.text).toMatch(/db → web → db|web → db → web/);
  const self = await call('PUT', `/x${put}`, sleeper(['x']));
  expect(self.text).toContain('x → x');
  expect(Object.keys(await states())).toEqual(['db', 'web']);
});

test('one service has an http_port; what another needs is not deleted', async () => {
  const { call } = await serveServices();
  expect((await call('PUT', `/db${put}`, { ...sleeper(), httpPort: 8080 })).status).toBe(200);
  const second = await call('PUT', `/web${put}`, { ...sleeper(['db']), http_port: 9090 });
  expect([second.status, second.json]).toMatchObject([409, { error: 'conflict' }]);
  expect((await call('PUT', `/web${put}`, sleeper(['db']))).status).toBe(200);
  expect((await call('PUT', `/db${put}`, { ...sleeper(), http_port: 8081 })).status).toBe(200);
  const refused = await call('DELETE', '/db');
  expect([refused.status, refused.json]).toMatchObject([
    409,
    { error: 'conflict', message: expect.stringContaining('web') },
  ]);
  expect((await call('DELETE', '/web')).status).toBe(204);
  expect((await call('DELETE', '/db')).status).toBe(204);
});

test(
  'a hundred services start in the order of what they need, also with the next supervisor',
  async () => {
    const timing = { proved_ms: 5 };
    const first = await serveServices(timing);
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    // Ten rows of ten: each service needs the one that stands before it in its row.
    const needOf = (index: number) => (index < 10 ? [] : [`s${index - 10}`]);
    for (const [index, name] of names.entries()) await first.call('PUT', `/${name}${put}`, sleeper(needOf(index)));

    const readStarts = async ({ call }: Pick<typeof first, 'call'>) => {
      const services = (await call('GET', '')).json as ServiceResponse[];
      const isUp = services.every(({ state }) => state?.status === 'running');
      return isUp && new Map(services.map(({ name, state }) => [name, Date.parse(state?.started_at ?? '')]));
    };
    const check = (starts: ReadonlyMap<string, number>) => {
      expect(starts.size).toBe(100);
      for (const [index, name] of names.entries()) {
        for (const need of needOf(index)) expect(starts.get(name)).toBeGreaterThanOrEqual(starts.get(need) ?? Infinity);
      }
    };
    check(await eventually(() => readStarts(first), LIMIT_MS));
    await first[Symbol.asyncDispose]();
    const second = await serveServices(timing, first.dir);
    check(await eventually(() => readStarts(second), LIMIT_MS));
  },
  3 * LIMIT_MS,
);

test('a service that needs another waits for it, and fails when it does not run in time', async () => {
  const { call, states } = await serveServices({ needs_ms: 300 });
  await call('PUT', `/db${put}`, { cmd: 'false' });
  const answer = await call('PUT', '/web?duration=600ms', sleeper(['db']));
  const [event] = toEvents(answer);
  expect(event).toMatchObject({ type: 'error', data: expect.stringMatching(/it needs db, which does not run/) });
  await call('PUT', `/db${put}`, sleeper());
  // It is tried again by itself.
  await eventually(async () => (await states()).web === 'running');
});

test('starting a service starts what it needs, also where that was stopped by hand', async () => {
  const { call, states } = await serveServices({ proved_ms: 50 });
  await call('PUT', `/db${put}`, sleeper());
  await call('PUT', `/web${put}`, sleeper(['db']));
  await eventually(async () => (await states()).web === 'running');
  await call('POST', '/web/stop');
  await call('POST', '/db/stop');
  expect(await states()).toEqual({ db: 'stopped', web: 'stopped' });
  await call('POST', `/web/start${put}`);
  await eventually(async () => Object.values(await states()).every((status) => status === 'running'));
});

test('a service runs as soon as its port accepts', async () => {
  const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  const port = await eventually(() => (server.address() as { port: number } | null)?.port);
  const { call, states } = await serveServices({ proved_ms: 60_000 });
  await call('PUT', `/web${put}`, { ...sleeper(), http_port: port });
  await call('PUT', `/other${put}`, sleeper());
  await eventually(async () => (await states()).web === 'running');
  expect((await states()).other).toBe('starting');
});

test('calls that come while the supervisor ends leave nothing that runs', async () => {
  const served = await serveServices();
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const mark = `svc-ending-${process.pid}`;
  const marked = { cmd: 'sh', args: ['-c', 'sleep 60; true', mark] };
  for (const name of names.slice(0, 10)) await served.call('PUT', `/${name}${put}`, marked);
  const calls = names.map((name) => served.call('PUT', `/${name}${put}`, marked).catch(() => undefined));
  await eventually(async () => Object.keys(await served.states()).length > 10);
  await served[Symbol.asyncDispose]();
  await Promise.all(calls);
  expect(findPids(mark)).toEqual([]);
});

test('nothing keeps the supervisor once no service is defined', async () => {
  const served = await serveServices();
  expect(served.isBusy).toBe(false);
  await served.call('PUT', `/web${put}`, sleeper());
  expect(served.isBusy).toBe(true);
  await served.call('DELETE', '/web');
  expect(served.isBusy).toBe(false);
});
