// Reconnecting to the node: never two connections at once, never in a hot loop, and dead connections are noticed.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { type NodeConnection, startNode, tx } from '../../../support/scripted-node.ts';

/** 100 between two dials, and the resolution of timers. */
const SPACING_MS = 98;
const gaps = (times: readonly number[]) => times.slice(1).map((time, i) => time - (times[i] ?? 0));

/** When each request to `url` is made in this process. Its arrival can be late when the process stands still. */
function dialsTo(url: string): readonly number[] {
  const dials_ms: number[] = [];
  const note = (message: unknown) => {
    const { request } = message as { readonly request: { readonly origin: string | URL } };
    if (new URL(request.origin).origin === url) dials_ms.push(performance.now());
  };
  subscribe('undici:request:create', note);
  onTestFinished(() => void unsubscribe('undici:request:create', note));
  return dials_ms;
}

const openAndEnd = (connection: NodeConnection) => {
  connection.open();
  connection.end();
};
const openAndCut = (connection: NodeConnection) => {
  connection.open();
  setImmediate(connection.cut);
};

test.each([
  { name: 'a clean end after init', answer: openAndEnd },
  { name: 'a clean end before init', answer: ({ response }: NodeConnection) => void response.writeHead(200).end() },
  { name: 'a cut after init', answer: openAndCut },
  { name: 'a cut before the head', answer: ({ cut }: NodeConnection) => cut() },
  { name: 'a 503', answer: ({ response }: NodeConnection) => void response.writeHead(503).end() },
])('$name is dialled again, apart by 100 ms or more, and slower each time', async ({ answer }) => {
  async function dial(): Promise<readonly [number, number]> {
    const node = await startNode();
    node.onRequest(answer);
    const dials_ms = dialsTo(node.url);
    // The shortest of the first delays, and then the longest.
    const draws = [0];
    const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => draws.shift() ?? 0.99 });
    await eventually(() => node.arrivals_ms.length >= 3);
    expect(node.mostAtOnce).toBe(1);
    await eventually(() => agent.part().state === 'degraded');
    expect(agent.replication.status().connection.failures_in_a_row).toBeGreaterThanOrEqual(2);
    const [first = 0, second = 0] = gaps(dials_ms);
    return [first, second];
  }
  // A busy machine may make the shorter delay the longer one, and note a dial late. Not each time.
  const isAsMeant = ([first, second]: readonly [number, number]) => first >= SPACING_MS && second > first;
  let between_ms = await dial();
  for (let tries = 1; tries < 5 && !isAsMeant(between_ms); tries += 1) between_ms = await dial();
  expect(between_ms[0]).toBeGreaterThanOrEqual(SPACING_MS);
  expect(between_ms[1]).toBeGreaterThan(between_ms[0]);
});

test('twenty resumes at once are one connection at a time, apart by 100 ms or more', async () => {
  async function resume(): Promise<number[]> {
    const node = await startNode();
    node.onRequest((connection) => connection.open());
    const dials_ms = dialsTo(node.url);
    const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
    await agent.connected();
    await agent.upstream.replace();
    await Promise.all(Array.from({ length: 20 }, () => agent.replication.recover()));
    await agent.upstream.replace();
    await agent.replication.recover();
    expect(node.arrivals_ms).toHaveLength(3);
    expect(dials_ms).toHaveLength(3);
    expect(node.mostAtOnce).toBe(1);
    return gaps(dials_ms);
  }
  // A dial is noted a little after it is decided on, and on a busy machine the first one later than the next. Not each time.
  let between_ms = await resume();
  for (let tries = 1; tries < 5 && Math.min(...between_ms) < SPACING_MS; tries += 1) between_ms = await resume();
  for (const ms of between_ms) expect(ms).toBeGreaterThanOrEqual(SPACING_MS);
});

test('a connection that lasted makes the next delay a short one again', async () => {
  const node = await startNode();
  let stays = false;
  let lasting: NodeConnection | undefined;
  node.onRequest((connection) => {
    connection.open();
    if (stays) lasting = connection;
    else connection.end();
  });
  let draw = 0;
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => draw, timing: { stable_ms: 50 } });
  await eventually(() => agent.replication.status().connection.failures_in_a_row >= 3);
  stays = true;
  await eventually(() => lasting !== undefined);
  await agent.connected();
  // The delay that is looked at is seconds long.
  draw = 20;
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 100);
  node.onRequest(undefined);
  await node.stop();
  await eventually(() => agent.replication.status().connection.state === 'waiting');
  expect(agent.replication.status().connection.failures_in_a_row).toBe(1);
});

test('a node that comes back is followed again, and what was lost is a gap', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const first = await node.next();
  first.open();
  first.send(tx('a', 1), tx('b', 1));
  await agent.reaches('b', 1);
  await node.stop();
  await eventually(() => agent.replication.status().connection.last_failure?.code === 'node_unreachable');
  expect(agent.part()).toMatchObject({ state: 'degraded', reason: expect.stringMatching(/cannot be reached/) });
  expect((await agent.get('/v1/replication')).json).toMatchObject({ primary: 'unknown' });
  const stale = (await agent.get('/v1/replication/a')).json;
  expect(stale).toMatchObject({ txID: '0000000000000001', state: 'stale', reason: 'the node is not connected' });

  await node.restart();
  const second = await node.next();
  second.open();
  second.send(tx('a', 4));
  await agent.reaches('a', 4);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
  expect((await agent.get('/v1/replication/b')).json).toMatchObject({
    state: 'stale',
    reason: expect.stringMatching(/since the node was connected/),
  });
  expect(agent.part()).toMatchObject({ state: 'ok' });
  const told = agent.events.map(({ type }) => type).filter((type) => type.startsWith('replication_'));
  expect(told).toEqual([
    'replication_connected',
    'replication_disconnected',
    'replication_unreachable',
    'replication_connected',
    'replication_gap',
  ]);
});

test.each([
  { status: 404, headers: {}, code: 'node_without_events', message: /0\.5\.5/ },
  { status: 405, headers: {}, code: 'node_refused', message: /405/ },
  { status: 302, headers: { location: '/other' }, code: 'node_refused', message: /302/ },
  { status: 500, headers: {}, code: 'node_refused', message: /500/ },
])('an answer of $status says what is wrong', async ({ status, headers, code, message }) => {
  const node = await startNode();
  node.onRequest(({ response }) => void response.writeHead(status, headers).end('some text'));
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  await eventually(() => agent.replication.status().connection.last_failure !== null);
  expect(agent.replication.status().connection.last_failure).toMatchObject({
    code,
    message: expect.stringMatching(message),
  });
  expect(agent.part()).toMatchObject({ state: 'degraded', reason: expect.stringMatching(message) });
  expect(agent.events).toMatchObject([{ type: 'replication_unreachable', code }]);
});

test('Retry-After of the node is respected', async () => {
  const node = await startNode();
  node.onRequest(({ response }) => void response.writeHead(503, { 'retry-after': '1' }).end());
  await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  await eventually(() => node.arrivals_ms.length >= 2);
  expect(gaps(node.arrivals_ms)[0]).toBeGreaterThanOrEqual(990);
});

test.each(['application/json', 'application/x-ndjson; charset=utf-8', 'text/plain', undefined])(
  'a stream of type %s is read',
  async (type) => {
    const node = await startNode();
    const agent = await startReplicationAgent({ nodeUrl: `${node.url}/` });
    const connection = await node.next();
    expect(connection.request.url).toBe('/events');
    connection.response.writeHead(200, type === undefined ? {} : { 'content-type': type });
    connection.send({ type: 'init', data: { isPrimary: true } }, tx('a', 1));
    await agent.reaches('a', 1);
  },
);

test('nothing is dialled while a suspend is under way', async () => {
  const node = await startNode();
  node.onRequest(openAndEnd);
  let may = true;
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, mayConnect: () => may });
  await eventually(() => node.arrivals_ms.length >= 1);
  may = false;
  await eventually(() => agent.replication.status().connection.state === 'held');
  const before = node.arrivals_ms.length;
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 400);
  expect(node.arrivals_ms).toHaveLength(before);
  expect(agent.replication.status().connection.state).toBe('held');
  may = true;
  await eventually(() => node.arrivals_ms.length > before);
});

test('a resume drops the connection and has another at once', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const first = await node.next();
  first.open();
  first.send(tx('a', 1));
  await agent.reaches('a', 1);
  await agent.upstream.replace();
  const resumed = agent.replication.recover();
  const second = await node.next();
  await first.closed;
  second.open();
  await resumed;
  expect(agent.replication.status().connection).toMatchObject({ state: 'following', connects: 2 });
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'stale' });
  second.send(tx('a', 2));
  await agent.reaches('a', 2);
  expect((await agent.get('/v1/replication/a')).json).toMatchObject({ state: 'live' });
});

test('a resume cuts a long backoff short, and says when the node cannot be had', async () => {
  const node = await startNode();
  node.onRequest((connection) => connection.cut());
  const draws = [0, 0];
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => draws.shift() ?? 20 });
  await eventually(() => agent.replication.status().connection.failures_in_a_row >= 3);
  const since_ms = performance.now();
  await expect(agent.replication.recover()).rejects.toMatchObject({ code: 'node_unreachable' });
  // The backoff is half a minute long.
  expect(performance.now() - since_ms).toBeLessThan(20_000);
  expect(agent.replication.status().connection.failures_in_a_row).toBe(1);
});

describe('one redial and one gap for a resume', () => {
  const told = (agent: { readonly events: readonly { readonly type: string }[] }) =>
    agent.events.map(({ type }) => type).filter((type) => /connected$|gap/.test(type));

  test.each(['waits', 'dials', 'follows'] as const)(
    'when the follower %s again at the step of the recovery',
    async (at) => {
      const node = await startNode();
      // It waits for seconds, or for as short a time as it may.
      const draws = at === 'waits' ? [20] : [];
      const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => draws.shift() ?? 0 });
      const first = await node.next();
      first.open();
      first.send(tx('a', 1));
      await agent.reaches('a', 1);
      await agent.upstream.replace();
      await first.closed;
      let second: NodeConnection | undefined;
      if (at === 'waits') await eventually(() => agent.replication.status().connection.state === 'waiting');
      else second = await node.next();
      if (at === 'follows') {
        second?.open();
        await agent.connected();
      }
      const resumed = agent.replication.recover();
      second ??= await node.next();
      if (at !== 'follows') second.open();
      await resumed;
      await agent.connected();
      second.send(tx('a', 3));
      await agent.reaches('a', 3);
      expect(node.arrivals_ms).toHaveLength(2);
      expect(agent.replication.status().connection).toMatchObject({ state: 'following', connects: 2 });
      expect(told(agent)).toEqual([
        'replication_connected',
        'replication_disconnected',
        'replication_connected',
        'replication_gap',
      ]);
      const { json } = await agent.get('/v1/replication/a/transactions');
      const types = (json as { transactions: { type: string }[] }).transactions.map(({ type }) => type);
      expect(types).toEqual(['tx', 'gap', 'tx']);
    },
  );
});

test('pooled connections that are destroyed under the stream are a lost stream', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  (await node.next()).open();
  await agent.connected();
  await agent.upstream.replace();
  (await node.next()).open();
  await agent.connected();
  expect(node.mostAtOnce).toBe(1);
});

const quick = { silence_ms: 200, probe_ms: 300 };
/** Serves probes that are answered: by when is not tried. */
const patient = { silence_ms: 200, probe_ms: 30_000 };

test('a node that stops answering is noticed by a probe and dialled again', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, timing: quick });
  const first = await node.next();
  first.open();
  await agent.connected();
  const probe = await node.next();
  await eventually(() => agent.replication.status().connection.state === 'probing');
  await Promise.all([probe.closed, first.closed]);
  expect(agent.events.filter(({ type }) => type === 'replication_disconnected')).toMatchObject([
    { code: 'node_silent' },
  ]);
  (await node.next()).open();
  await agent.connected();
});

test('a quiet database is no error: the stream stays, however often it is probed', async () => {
  const node = await startNode();
  let requests = 0;
  node.onRequest((connection) => {
    requests += 1;
    connection.open();
  });
  const agent = await startReplicationAgent({ nodeUrl: node.url, timing: patient });
  await eventually(() => requests >= 5);
  expect(agent.replication.status().connection).toMatchObject({ connects: 1, last_failure: null });
  expect(agent.events.map(({ type }) => type)).not.toContain('replication_disconnected');
  expect(node.mostAtOnce).toBe(2);
});

test.each([
  { name: 'is another process', init: undefined, headers: { 'litefs-id': 'FFFFFFFFFFFFFFFF' } },
  { name: 'has another primary', init: { type: 'init', data: { isPrimary: false, hostname: 'b' } }, headers: {} },
])('a silent node of which a probe says that it $name is dialled again', async ({ init, headers }) => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, timing: patient });
  const first = await node.next();
  first.open();
  (await node.next()).open(init, headers);
  await first.closed;
  expect(agent.events.filter(({ type }) => type === 'replication_disconnected')).toMatchObject([
    { code: 'node_changed' },
  ]);
});

test('bytes that come while the probe goes unanswered keep the stream', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, timing: { ...quick, probe_ms: 1_500 } });
  const first = await node.next();
  first.open();
  const probe = await node.next();
  first.send(tx('a', 1));
  await probe.closed;
  await eventually(() => agent.replication.status().connection.state === 'following');
  expect(agent.replication.status().connection.connects).toBe(1);
});

test('another node id is told, another cluster empties the cache', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const first = await node.next();
  first.open(undefined, { 'litefs-cluster-id': 'LFSC1' });
  first.send(tx('a', 1));
  await agent.reaches('a', 1);
  first.end();
  const second = await node.next();
  second.open(undefined, { 'litefs-id': 'FEDCBA9876543210' });
  await agent.connected();
  expect(await agent.replication.wholeStatus()).toMatchObject({
    connection: { node_id: 'FEDCBA9876543210', cluster_id: 'LFSC1' },
    databases: [{ db: 'a' }],
  });
  second.end();
  const third = await node.next();
  third.open(undefined, { 'litefs-id': 'FEDCBA9876543210', 'litefs-cluster-id': 'LFSC2' });
  await agent.connected();
  expect((await agent.replication.wholeStatus()).databases).toEqual([]);
  const told = agent.events.map(({ type }) => type);
  expect(told.filter((type) => type === 'replication_node_restarted')).toHaveLength(1);
  expect(told.filter((type) => type === 'replication_cluster_changed')).toHaveLength(1);
  await agent.stop();
  const later = await startReplicationAgent({ nodeUrl: node.url, stateDir: agent.stateDir });
  expect(await later.replication.wholeStatus()).toMatchObject({ databases: [], connection: { cluster_id: 'LFSC2' } });
});

test('without a node the part is off and its rows say so', async () => {
  const agent = await startReplicationAgent();
  expect(agent.part()).toMatchObject({ state: 'off', reason: expect.stringMatching(/REMORA_NODE_URL/) });
  expect(await agent.get('/v1/replication')).toMatchObject({
    status: 200,
    json: { primary: 'unknown', connection: { state: 'off' }, databases: [] },
  });
  for (const target of [
    '/events',
    '/v1/replication/a',
    '/v1/replication/a/wait?txid=1',
    '/v1/replication/a/transactions',
  ]) {
    expect(await agent.get(target), target).toMatchObject({ status: 503, json: { error: 'not_configured' } });
  }
  await agent.replication.recover();
  expect(agent.replication.isPrimary()).toBeUndefined();
});

test('an address that is none fails the part alone', async () => {
  const agent = await startReplicationAgent({ nodeUrl: 'not an address' });
  expect(agent.part()).toMatchObject({ state: 'failed', reason: expect.stringMatching(/not an http address/) });
  expect((await agent.get('/v1/replication')).status).toBe(200);
});
