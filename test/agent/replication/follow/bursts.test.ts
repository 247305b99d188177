// A burst of the node leaves turns of the loop to others, and nothing of it is lost or out of order.
import { expect, onTestFinished, test } from 'vitest';
import { followConnection } from '../../../../src/agent/replication/follow/follow-connection.ts';
import { followerTiming } from '../../../../src/agent/replication/follow/follower-timing.ts';
import { probeNode } from '../../../../src/agent/replication/follow/node-probe.ts';
import { createUpstream } from '../../../../src/agent/upstream.ts';
import { systemClock } from '../../../../src/core/clock.ts';
import { countSteps } from '../../../support/count-turns.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { primaryInit, startNode, tx } from '../../../support/scripted-node.ts';

const LINES = 10_000;

/** Every look at it is three milliseconds later, so that each slice of work is as long as a turn may be. */
function slowClock() {
  let now_ms = 0;
  return { ...systemClock, mono_ms: () => (now_ms += 3) };
}

function dispatcherOfTest() {
  const upstream = createUpstream();
  onTestFinished(() => upstream[Symbol.asyncDispose]());
  return upstream.dispatcher;
}

/** Follows a node that sends `text` after init; returns how many lines were passed on in each turn, and the events. */
async function followBurst(text: string) {
  const node = await startNode();
  const dispatcher = dispatcherOfTest();
  const { step, perTurn } = countSteps();
  const events: unknown[] = [];
  const connected = Promise.withResolvers<void>();
  const end = followConnection({
    node: new URL(node.url),
    clock: slowClock(),
    dispatcher: () => dispatcher,
    mayConnect: () => true,
    timing: followerTiming,
    move: () => undefined,
    end: new AbortController(),
    listener: {
      onConnected: () => connected.resolve(),
      onEvent(event) {
        step();
        events.push(event);
      },
      onUnknown: step,
      onInvalid: step,
      onRead: () => undefined,
      drained: () => undefined,
      onCut: () => undefined,
      onDisconnected: () => undefined,
      onFailed: () => undefined,
      primary: () => ({ type: 'unknown' }),
    },
  });
  const connection = await node.next();
  connection.open();
  await connected.promise;
  await connection.write(text);
  connection.end();
  const { failure } = await end;
  return { perTurn: perTurn(), events, failure };
}

test('10,000 short lines in one write are passed on in slices, a turn for each', async () => {
  const { perTurn, failure } = await followBurst('{}\n'.repeat(LINES));
  expect(failure.code).toBe('node_ended');
  expect(perTurn.reduce((sum, count) => sum + count, 0)).toBe(LINES);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(256);
});

test('each of five lines of 1 MB in one write has a turn of its own', async () => {
  const line = JSON.stringify({ type: 'later', text: 'x'.repeat(1_000_000) });
  const { perTurn } = await followBurst(`${line}\n`.repeat(5));
  expect(perTurn).toEqual([1, 1, 1, 1, 1]);
});

test('transactions of a burst are all passed on, in order, also when the stream ends right after it', async () => {
  const lines = Array.from({ length: LINES }, (_, index) => tx('a', index + 1));
  const { perTurn, events } = await followBurst(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  expect(events).toEqual(lines);
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(256);
});

test('a line with more values than any event holds is refused and the rest goes on', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  connection.send({ ...tx('a', 1), more: Array.from({ length: 5_000 }, () => 1) }, tx('a', 2));
  await agent.reaches('a', 2);
  expect(agent.replication.status().counts).toMatchObject({ transactions: 1, invalid: 1 });
});

test('a probe finds init behind many lines', async () => {
  const node = await startNode();
  const probe = probeNode({
    node: new URL(node.url),
    dispatcher: dispatcherOfTest(),
    nodeId: '0123456789ABCDEF',
    primary: { type: 'self' },
    deadline_ms: 60_000,
    signal: new AbortController().signal,
  });
  const connection = await node.next();
  connection.open({ type: 'unknown' });
  await connection.write(`${'x\n'.repeat(LINES)}${JSON.stringify(primaryInit)}\n${'x\n'.repeat(LINES)}`);
  await probe;
});
