// The stream is cut wherever it can be cut, and a line that never ends is refused.
import { expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';

const line = (event: object) => `${JSON.stringify(event)}\n`;

async function follow() {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  return { node, agent, connection };
}

test('events cut inside a line and inside a character are whole', async () => {
  const { agent, connection } = await follow();
  const bytes = Buffer.from(line(tx('größe 🦅', 1)) + line(tx('größe 🦅', 2)));
  for (const byte of bytes) await connection.write(Uint8Array.of(byte));
  await agent.reaches('größe 🦅', 2);
  expect(agent.replication.status().counts).toMatchObject({ transactions: 2, invalid: 0, gaps: 0 });
});

test('two objects in one chunk, CRLF and blank lines are what they say', async () => {
  const { agent, connection } = await follow();
  const text = `${line(tx('a', 1)) + line(tx('a', 2))}\n\r\n  \n${line(tx('a', 3)).replace('\n', '\r\n')}`;
  await connection.write(text);
  await agent.reaches('a', 3);
  expect(agent.replication.status().counts).toMatchObject({ transactions: 3, invalid: 0, unknown: 0, gaps: 0 });
});

test('an object without its newline counts when the stream ends after it', async () => {
  const { agent, connection } = await follow();
  connection.send(tx('a', 1));
  await connection.write(line(tx('a', 2)).trimEnd());
  connection.end();
  await agent.reaches('a', 2);
  expect(agent.replication.status().counts).toMatchObject({ transactions: 2, cut: 0 });
});

test.each(['end', 'cut'] as const)('half a line is not parsed when the stream comes to its %s', async (how) => {
  const { agent, connection, node } = await follow();
  connection.send(tx('a', 1));
  await connection.write(line(tx('a', 2)).slice(0, 70));
  await agent.reaches('a', 1);
  connection[how]();
  const again = await node.next();
  again.open();
  again.send(tx('a', 3));
  await agent.reaches('a', 3);
  expect(agent.replication.status().counts).toMatchObject({ transactions: 2, cut: 1, invalid: 0, gaps: 1 });
  const page = await agent.get('/v1/replication/a/transactions');
  expect(page.json).toMatchObject({
    transactions: [
      { type: 'tx', txID: '0000000000000001' },
      { type: 'gap', from: '0000000000000002', to: '0000000000000002', missing: 1, cause: 'disconnected' },
      { type: 'tx', txID: '0000000000000003' },
    ],
  });
});

test('unknown types, unknown fields and unusable lines are skipped and counted', async () => {
  const { agent, connection } = await follow();
  const reader = await agent.read('/events');
  await reader.next();
  connection.send({ type: 'handoff', node: 'b' }, { ...tx('a', 1), more: { x: 1 } }, { type: 'tx', data: {} });
  await connection.write('not json\n[1]\n"text"\nnull\n{"type":7}\n');
  connection.send(tx('a', 2, { txID: '2' }), tx('a', 2, { commit: -1 }), tx('a', 2));
  await agent.reaches('a', 2);
  const report = agent.replication.status();
  expect(report.counts).toMatchObject({ transactions: 2, unknown: 1, invalid: 8, gaps: 0 });
  expect(report.last_invalid?.reason).toMatch(/^tx: data\.commit/);
  expect(report.connection).toMatchObject({ state: 'following', connects: 1 });
  expect([await reader.next(), await reader.next(), await reader.next()]).toEqual([
    { type: 'handoff', node: 'b' },
    { ...tx('a', 1), more: { x: 1 } },
    tx('a', 2),
  ]);
});

test('a line of 10 MB is refused without growing memory, and the stream is dialled again', async () => {
  const { agent, connection, node } = await follow();
  connection.send(tx('a', 1));
  await agent.reaches('a', 1);
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  for (let sent = 0; sent < 10 * 1024 * 1024 && !connection.response.destroyed; sent += chunk.length) {
    await connection.write(chunk);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  await connection.closed;
  expect(most).toBeLessThan(8 * 1024 * 1024);
  const again = await node.next();
  again.open();
  again.send(tx('a', 2));
  await agent.reaches('a', 2);
  expect(agent.replication.status().connection.last_failure?.code).toBe('line_too_long');
  expect(agent.events.filter(({ type }) => type === 'replication_disconnected')).toMatchObject([
    { code: 'line_too_long' },
  ]);
  expect(node.mostAtOnce).toBe(1);
});

test('a stream that does not begin with init is dropped', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const connection = await node.next();
  connection.open(tx('a', 1));
  await connection.closed;
  await eventually(() => agent.replication.status().connection.last_failure?.code === 'no_init');
  expect((await agent.replication.wholeStatus()).databases).toEqual([]);
  expect(agent.part()).toMatchObject({ state: 'degraded' });
});
