// Reading one's own writes: waiting for a transaction.
import { expect, test } from 'vitest';
import { createPositionWaiters, WAITER_CAP } from '../../../../src/agent/replication/readers/position-waiters.ts';
import type { ReplicaEntry } from '../../../../src/agent/replication/replica.ts';
import { countSteps } from '../../../support/count-turns.ts';
import { eventually } from '../../../support/eventually.ts';
import { openRaw } from '../../../support/raw-http.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';

async function follow() {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  return { node, agent, connection };
}

test('it answers at once when the position is there, or past it', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 0x1f));
  await agent.reaches('a', 0x1f);
  for (const txid of ['000000000000001f', '1f', '1F', '1', '0']) {
    const answer = await agent.get(`/v1/replication/a/wait?txid=${txid}&timeout=0`);
    expect(answer, txid).toMatchObject({ status: 200, json: { txID: '000000000000001f', state: 'live' } });
  }
});

test('it answers when the transaction comes, or a later one', async () => {
  const { agent, connection } = await follow();
  const waits = ['2', '3', '5'].map((txid) => agent.get(`/v1/replication/a/wait?txid=${txid}`));
  await eventually(() => agent.replication.status().waiters === 3);
  connection.send(tx('b', 9), tx('a', 1), tx('a', 2));
  expect((await waits[0])?.json).toMatchObject({ db: 'a', txID: '0000000000000002' });
  expect(agent.replication.status().waiters).toBe(2);
  connection.send(tx('a', 8));
  expect((await waits[1])?.json).toMatchObject({ txID: '0000000000000008' });
  expect((await waits[2])?.json).toMatchObject({ txID: '0000000000000008' });
  expect(agent.replication.status().waiters).toBe(0);
});

test('it is 408 when the time is over', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  const since_ms = performance.now();
  const answer = await agent.get('/v1/replication/a/wait?txid=2&timeout=200ms');
  expect(performance.now() - since_ms).toBeGreaterThanOrEqual(195);
  expect(answer).toMatchObject({ status: 408, json: { error: 'timeout' } });
  expect(agent.replication.status().waiters).toBe(0);
});

test.each([
  ['txid=', 400],
  ['', 400],
  ['txid=xyz', 400],
  ['txid=00000000000000001', 400],
  ['txid=2&timeout=soon', 400],
  ['txid=2&timeout=-5', 408],
  ['txid=2&timeout=0', 408],
  ['txid=2&timeout=0.05', 408],
  ['txid=2&timeout=0s', 408],
  ['txid=1&timeout=1000000000', 200],
])('%s is answered with %i', async (query, status) => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  expect((await agent.get(`/v1/replication/a/wait?${query}`)).status).toBe(status);
});

test('it goes on through a disconnection', async () => {
  const { agent, connection, node } = await follow();
  const wait = agent.get('/v1/replication/a/wait?txid=7');
  await eventually(() => agent.replication.status().waiters === 1);
  connection.cut();
  const again = await node.next();
  again.open();
  again.send(tx('a', 9));
  expect(await wait).toMatchObject({ status: 200, json: { txID: '0000000000000009', state: 'live' } });
});

test('it gives the position that was reached, also when the next event takes it back', async () => {
  const { agent, connection } = await follow();
  const wait = agent.get('/v1/replication/a/wait?txid=5');
  await eventually(() => agent.replication.status().waiters === 1);
  connection.send(tx('a', 5), tx('a', 2), tx('a', 3));
  expect(await wait).toMatchObject({ status: 200, json: { txID: '0000000000000005' } });
});

test('a caller that goes away is forgotten', async () => {
  const { agent } = await follow();
  const caller = openRaw(agent.path, 'GET /v1/replication/a/wait?txid=7 HTTP/1.1\r\nHost: x\r\n\r\n');
  await eventually(() => agent.replication.status().waiters === 1);
  caller.socket.destroy();
  await eventually(() => agent.replication.status().waiters === 0);
});

test('a stop answers those who wait', async () => {
  const { agent } = await follow();
  const wait = agent.get('/v1/replication/a/wait?txid=7');
  await eventually(() => agent.replication.status().waiters === 1);
  await agent.stop();
  expect(await wait).toMatchObject({ status: 503, json: { error: 'shutting_down' } });
});

const id = (n: number) => n.toString(16).padStart(16, '0');
function entry(n: number): ReplicaEntry {
  const checksum = 'aaaaaaaaaaaaaaaa';
  const transaction = { txID: id(n), postApplyChecksum: checksum, pageSize: 4096, commit: 1, timestamp: '' };
  return { transaction, standing: 'live', received_ms: 0 };
}

test('waiters in any order are woken by exactly the transactions that reach them', async () => {
  const waiters = createPositionWaiters();
  const never = new AbortController().signal;
  const order = [5, 1, 9, 5, 3, 7, 1, 9, 2];
  const woken: number[] = [];
  const all = order.map(async (n) => {
    const reached = await waiters.wait('a', id(n), 60_000, never);
    woken.push(n);
    expect(Number(`0x${reached.transaction.txID}`)).toBeGreaterThanOrEqual(n);
  });
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  for (const [n, expected] of [
    [0, []],
    [1, [1, 1]],
    [4, [1, 1, 2, 3]],
    [5, [1, 1, 2, 3, 5, 5]],
    [100, [1, 1, 2, 3, 5, 5, 7, 9, 9]],
  ] as const) {
    waiters.reached('b', entry(100));
    waiters.reached('a', entry(n));
    await settle();
    expect(woken).toEqual(expected);
    expect(waiters.size).toBe(order.length - expected.length);
  }
  await Promise.all(all);
});

test('one caller too many is told to come back', async () => {
  const waiters = createPositionWaiters();
  const ending = new AbortController();
  const all = Array.from({ length: WAITER_CAP }, (_, n) => waiters.wait('a', id(n + 1), 60_000, ending.signal));
  await expect(waiters.wait('a', id(1), 60_000, ending.signal)).rejects.toMatchObject({ code: 'too_many_requests' });
  waiters.reached('a', entry(WAITER_CAP));
  await Promise.all(all);
  expect(waiters.size).toBe(0);
});

test('of a thousand callers that one transaction wakes, or whose time is over together, a few are answered in each turn', async () => {
  const waiters = createPositionWaiters();
  const { step, perTurn } = countSteps();
  const never = new AbortController().signal;
  const woken = Array.from({ length: 1_000 }, () => waiters.wait('a', id(5), 60_000, never).then(step));
  waiters.reached('a', entry(5));
  expect(waiters.size).toBe(0);
  await Promise.all(woken);
  const late = Array.from({ length: 1_000 }, () => waiters.wait('a', id(9), 1, never).catch(step));
  await Promise.all(late);
  expect(perTurn().reduce((sum, count) => sum + count, 0)).toBe(2_000);
  expect(Math.max(...perTurn())).toBeLessThanOrEqual(64);
});
