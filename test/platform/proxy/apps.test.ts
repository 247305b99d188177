// An app with several machines: which one gets a request, when one more is started, who waits, who is left out, and replays.
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { MachineRow } from '../../../src/platform/machines/records/machine-row.ts';
import { type Candidate, chooseMachine } from '../../../src/platform/proxy/choose-machine.ts';
import { Refusals } from '../../../src/platform/proxy/refusals.ts';
import { readReplay } from '../../../src/platform/proxy/replay.ts';
import { openOnce } from '../../support/at-end.ts';
import { eventually } from '../../support/eventually.ts';
import { openFreePort } from '../../support/free-port.ts';
import { openTestPlatform } from '../../support/open-platform.ts';
import { askProxy, type ProxyQuestion, startWeb } from '../../support/proxied-machine.ts';
import { remoraPath } from '../../support/run-remora.ts';

const HOST = 'shop.apps.localhost';

const opened = openOnce(async () => {
  const platform = await openTestPlatform({
    agentCommand: { command: process.execPath, args: [remoraPath, 'agent'] },
    trustMachines: true,
    proxy: { listen: { host: '127.0.0.1', port: 0 } },
  });
  const post = async (path: string, body: unknown = {}) => {
    const answer = await platform.call({ method: 'POST', path, body });
    if (answer.status >= 300) throw new Error(answer.text);
    return answer.json;
  };
  await post('/v1/apps', { name: 'shop', organization: 'acme' });
  async function make() {
    const port = await openFreePort();
    const http_service = { internal_port: port, concurrency: { soft_limit: 1, hard_limit: 2 } };
    const { id } = await post('/v1/apps/shop/machines', { config: { http_service } });
    const path = `/v1/apps/shop/machines/${id}`;
    await eventually(async () => (await platform.call({ path })).json.state === 'running');
    await eventually(async () => {
      const started = await startWeb(platform, { sprite: id, port, isHttp: false }).catch(() => undefined);
      return started !== undefined;
    });
    // One at which nobody listens yet would be left out for a while.
    await eventually(async () => (await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined))?.ok === true);
    const wait = (state: string) => platform.call({ path: `${path}/wait?state=${state}` });
    return { id: id as string, port, path, wait };
  }
  const machines = await Promise.all([make(), make()]);
  const { url } = (await platform.admin.createSprite({ organization: 'acme', name: 'dev-1' })) as { url: string };
  const proxyPort = Number(new URL(url).port);
  const ask = (question: ProxyQuestion) => askProxy(proxyPort, { host: HOST, ...question });
  const at = async (machine: { port: number }, path: string) =>
    await (await fetch(`http://127.0.0.1:${machine.port}${path}`)).text();
  await eventually(async () => (await ask({})).status === 200);
  const [one, other] = machines.toSorted((a, b) => (a.id < b.id ? -1 : 1)) as [
    (typeof machines)[0],
    (typeof machines)[0],
  ];
  return { platform, post, one, other, ask, at, proxyPort };
});

const heldAt = async (machine: { port: number }): Promise<number> =>
  JSON.parse(await opened().at(machine, '/arrivals')).open.held;

const isConnected = async (machine: { port: number }): Promise<boolean> =>
  JSON.parse(await opened().at(machine, '/arrivals')).arrivals.some(
    ({ method }: { method: string }) => method === 'WEBSOCKET',
  );

test('an app that is not there, and one without a service, is 404', async () => {
  expect((await opened().ask({ host: 'nothing.apps.localhost' })).json.error).toBe('not_found');
  expect((await opened().ask({ host: 'acme.apps.localhost' })).json.error).toBe('not_found');
});

test('requests go where the fewest are; at the hard limit they wait until one is over', async () => {
  const { ask, at, one, other } = opened();
  const held = [ask({ path: '/hold' }), ask({ path: '/hold' })];
  await eventually(async () => (await heldAt(one)) === 1 && (await heldAt(other)) === 1);
  held.push(ask({ path: '/hold' }), ask({ path: '/hold' }));
  await eventually(async () => (await heldAt(one)) === 2 && (await heldAt(other)) === 2);
  const waits = ask({});
  let isAnswered = false;
  waits.then(() => {
    isAnswered = true;
  });
  // Those that were sent after it would be answered before it, if it waited for nothing.
  for (let count = 0; count < 5; count += 1) await at(one, '/arrivals');
  expect(isAnswered).toBe(false);
  await at(one, '/let-go');
  expect((await waits).text).toBe(`hello from ${one.port}`);
  await at(other, '/let-go');
  expect((await Promise.all(held)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
});

test('a WebSocket counts as a request while it is open', async () => {
  const { ask, at, one, other, proxyPort } = opened();
  const socket = new WebSocket(`ws://127.0.0.1:${proxyPort}/socket`, { headers: { host: HOST } });
  onTestFinished(() => socket.terminate());
  await once(socket, 'open');
  const [held, free] = (await isConnected(one)) ? [one, other] : [other, one];
  const asked = ask({ path: '/hold' });
  await eventually(async () => (await heldAt(free)) === 1);
  expect(await heldAt(held)).toBe(0);
  await at(free, '/let-go');
  expect((await asked).status).toBe(200);
});

test('one more is started when those that run are busy, and the request does not wait for it', async () => {
  const { ask, at, post, one, other, platform } = opened();
  await post(`${other.path}/stop`);
  await other.wait('stopped');
  const held = ask({ path: '/hold' });
  await eventually(async () => (await heldAt(one)) === 1);
  expect((await platform.call({ path: other.path })).json.state).toBe('stopped');
  expect((await ask({})).text).toBe(`hello from ${one.port}`);
  await other.wait('running');
  // One at which nobody listens yet is left out for ten seconds.
  await eventually(async () => (await ask({})).text === `hello from ${other.port}`, 50_000);
  await at(one, '/let-go');
  await held;
});

test('a machine is started for the first request when none runs', async () => {
  const { ask, post, one, other } = opened();
  await post(`${one.path}/suspend`);
  await post(`${other.path}/stop`);
  await Promise.all([one.wait('suspended'), other.wait('stopped')]);
  expect((await ask({})).text).toBe(`hello from ${one.port}`);
  await post(`${other.path}/start`);
  await eventually(async () => (await ask({ path: '/replay?to=' })).status === 200);
});

test('a machine that is cordoned gets nothing', async () => {
  const { ask, post, one, other } = opened();
  await post(`${one.path}/cordon`);
  const texts = await eventually(async () => {
    const all = await Promise.all([1, 2].map(async () => (await ask({})).text));
    return all.every((text) => text === `hello from ${other.port}`) && all;
  }, 50_000);
  expect(texts).toHaveLength(2);
  await post(`${one.path}/uncordon`);
});

describe('replay', () => {
  test.each([
    ['remora-replay', 'without a body', {}],
    ['fly-replay', 'with a body', { method: 'POST', body: 'b'.repeat(1_000) }],
    [
      'fly-replay',
      'with a body in chunks',
      { method: 'POST', body: Buffer.alloc(500_000, 'b'), headers: { 'transfer-encoding': 'chunked' } },
    ],
  ] as const)('%s sends a request %s to the machine that it names, once', async (header, _what, question) => {
    const { ask, one, other } = opened();
    for (const to of [one, other]) {
      const { status, text, headers } = await ask({ path: `/replay?header=${header}&to=${to.id}`, ...question });
      const seen = JSON.parse(text);
      expect([status, seen.port, seen.bytes]).toEqual([200, to.port, 'body' in question ? question.body.length : 0]);
      expect([headers['remora-replay'], headers['fly-replay']]).toEqual([undefined, undefined]);
      const source = seen.rawHeaders[seen.rawHeaders.indexOf('fly-replay-src') + 1];
      expect(source).toMatch(/^instance=/);
    }
  });

  test('an answer that asks again is the answer, and one that names no machine of the app is 502', async () => {
    const { ask, one, platform } = opened();
    const again = await ask({ path: `/replay?always&to=${one.id}` });
    expect([again.status, again.headers['remora-replay']]).toEqual([200, undefined]);
    const { id } = await platform.admin.readMachine({ organization: 'acme', sprite: 'dev-1' });
    const foreign = await ask({ path: `/replay?to=${id}` });
    expect([foreign.status, foreign.json.message]).toEqual([502, expect.stringContaining('none of this app')]);
  });

  test('a body of more than 1 MB is not kept for it', async () => {
    const { ask, one, other } = opened();
    const body = Buffer.alloc(1_500_000, 'b');
    const answers = await Promise.all(
      [one, other].map((to) => ask({ path: `/replay?to=${to.id}`, method: 'POST', body })),
    );
    for (const { status } of answers) expect(status).toBe(502);
  });

  test.each([
    [{ 'remora-replay': 'instance=abc' }, 'abc'],
    [{ 'fly-replay': 'state=x; instance=abc;app=y' }, 'abc'],
    [{ 'fly-replay': 'elsewhere=true' }, undefined],
    [{ 'fly-replay': 'instance=' }, undefined],
    [{ 'fly-replay': 'instance=a b' }, undefined],
    [{ 'fly-replay': ['instance=a', 'instance=b'] }, undefined],
    [{}, undefined],
  ])('%j', (headers, expected) => expect(readReplay(headers)).toBe(expected));
});

test('a machine at which nobody listens costs no request, and is left out', async () => {
  const { ask, platform, one, other } = opened();
  const stop = `/v1/sprites/${one.id}/services/web/stop`;
  expect((await platform.call({ method: 'POST', path: stop })).status).toBe(200);
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => ask({ method: 'POST', path: '/describe', body: 'a' })),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  for (let count = 0; count < 4; count += 1) expect((await ask({})).text).toBe(`hello from ${other.port}`);
});

describe('which machine', () => {
  const toCandidate = (id: string, more: Partial<Candidate> = {}, row: object = {}): Candidate => ({
    machine: {
      id,
      state: 'stopped',
      cordoned: false,
      lease_nonce: null,
      lease_expires_at: null,
      ...row,
      config: { http_service: { concurrency: { soft_limit: 2, hard_limit: 3 } } },
    } as unknown as MachineRow,
    isUp: false,
    isStarting: false,
    inFlight: 0,
    isLeftOut: false,
    ...more,
  });
  const up = (id: string, inFlight: number, more: Partial<Candidate> = {}) =>
    toCandidate(id, { isUp: true, inFlight, ...more }, { state: 'running' });
  const choose = (...candidates: Candidate[]) => {
    const choice = chooseMachine(candidates, 1_000);
    if (choice.type === 'use')
      return `use ${choice.machine.id}${choice.start === undefined ? '' : `, start ${choice.start.id}`}`;
    return choice.type === 'start' ? `start ${choice.machine.id}` : choice.type;
  };
  const closed = (id: string): Candidate => {
    const candidate = toCandidate(id);
    const config = { http_service: { auto_start_machines: false } };
    return { ...candidate, machine: { ...candidate.machine, config } };
  };
  const leased = { lease_nonce: 'n', lease_expires_at: 2_000 };
  test.each([
    ['the idlest', [up('a', 1), up('b', 0)], 'use b'],
    ['nothing is started below the soft limit', [up('a', 1), toCandidate('b')], 'use a'],
    ['one more at the soft limit', [up('a', 2), toCandidate('b')], 'use a, start b'],
    ['one at a time', [up('a', 2), toCandidate('b', { isStarting: true }), toCandidate('c')], 'use a'],
    ['at the hard limit it waits for the start', [up('a', 3), toCandidate('b')], 'start b'],
    ['all full', [up('a', 3), up('b', 3)], 'wait'],
    [
      'a suspended one before a stopped one',
      [toCandidate('a'), toCandidate('b', {}, { state: 'suspended' })],
      'start b',
    ],
    ['cordoned', [toCandidate('a', { isUp: true }, { state: 'running', cordoned: true })], 'none'],
    ['left out', [up('a', 0, { isLeftOut: true }), up('b', 1)], 'use b'],
    ['left out, and alone', [up('a', 0, { isLeftOut: true })], 'use a'],
    ['leased and asleep', [toCandidate('a', {}, leased)], 'none'],
    ['leased a while ago', [toCandidate('a', {}, { ...leased, lease_expires_at: 500 })], 'start a'],
    ['leased and awake', [toCandidate('a', { isUp: true }, { ...leased, state: 'running' })], 'use a'],
    ['asleep, and not to be started by requests', [closed('a')], 'none'],
    ['awake, beside one that is not to be started', [up('a', 3), closed('b')], 'wait'],
    ['destroyed', [toCandidate('a', {}, { state: 'destroyed' })], 'none'],
    ['none', [], 'none'],
  ] as const)('%s', (_what, candidates, expected) => expect(choose(...candidates)).toBe(expected));

  test('one that refuses twice in a row is left out for ten seconds', () => {
    const clock = { now: 0 };
    const refusals = new Refusals(() => clock.now);
    refusals.onRefusal('a');
    refusals.onAnswer('a');
    refusals.onRefusal('a');
    expect(refusals.isLeftOut('a')).toBe(false);
    refusals.onRefusal('a');
    clock.now = 9_999;
    expect([refusals.isLeftOut('a'), refusals.isLeftOut('b')]).toEqual([true, false]);
    clock.now = 10_000;
    expect(refusals.isLeftOut('a')).toBe(false);
  });
});
