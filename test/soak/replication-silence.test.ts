// Silence in real time: a node that stops answering without a FIN is noticed within 45 s, and a quiet one is left in peace for
// longer than any default time limit.
import { expect, test } from 'vitest';
import { startChild } from '../support/child-lines.ts';
import { eventually } from '../support/eventually.ts';
import { startReplicationAgent } from '../support/replication-agent.ts';

const QUIET_MS = 1_200_000;

const child = new URL('../support/node-child.ts', import.meta.url).pathname;

async function follow() {
  const node = startChild(process.execPath, [child]);
  const port = (await node.line(/^port /)).split(' ')[1] ?? '';
  const agent = await startReplicationAgent({ nodeUrl: `http://127.0.0.1:${port}` });
  await agent.connected();
  const ends = () => agent.events.filter(({ type }) => type === 'replication_disconnected');
  return { node, agent, ends };
}

test('a node that is stopped in the middle is noticed within 45 s, and followed again once it runs', async () => {
  const { node, agent, ends } = await follow();
  const since_ms = performance.now();
  node.process.kill('SIGSTOP');
  await eventually(() => ends().length === 1, 60_000);
  expect(performance.now() - since_ms).toBeLessThan(45_000);
  expect(ends()).toMatchObject([{ code: 'node_silent' }]);
  node.process.kill('SIGCONT');
  await eventually(() => agent.replication.status().connection.state === 'following', 60_000);
  expect(ends()).toHaveLength(1);
});

test('a database that is quiet for twenty minutes is no error', { timeout: 1_300_000 }, async () => {
  const { node, agent, ends } = await follow();
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > QUIET_MS || ends().length > 0, QUIET_MS + 60_000);
  expect(ends()).toEqual([]);
  expect(agent.replication.status().connection).toMatchObject({ state: 'following', connects: 1, last_failure: null });
  // It was probed all the time.
  await node.line(/^stream 35$/);
});
