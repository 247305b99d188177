// Changes of the primary: programs hear of them at once, hooks when they lasted.
import { expect, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { startReplicationAgent } from '../../support/replication-agent.ts';
import { startNode } from '../../support/scripted-node.ts';

const a = { isPrimary: false, hostname: 'a:20202' };
const nobody = { isPrimary: false };

async function follow(init: object) {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open({ type: 'init', data: init });
  await agent.connected();
  const changes = () => agent.events.filter(({ type }) => type === 'primary_changed');
  await eventually(() => changes().length === 1);
  return { agent, connection, changes };
}

test.each([
  { data: { isPrimary: true }, shown: { primary: 'self' }, isPrimary: true },
  { data: a, shown: { primary: 'remote', hostname: 'a:20202' }, isPrimary: false },
  { data: nobody, shown: { primary: 'unknown' }, isPrimary: undefined },
])('$data is shown as $shown', async ({ data, shown, isPrimary }) => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open({ type: 'init', data });
  await agent.connected();
  const report = (await agent.get('/v1/replication')).json;
  expect(report).toMatchObject(shown);
  expect('hostname' in (report as object)).toBe('hostname' in shown);
  expect(agent.replication.isPrimary()).toBe(isPrimary);
});

test('a change is shown at once, and told once when it has lasted', async () => {
  const { agent, connection, changes } = await follow({ isPrimary: true });
  connection.send({ type: 'primaryChange', data: a });
  await eventually(() => agent.replication.status().primary === 'remote');
  expect(changes()).toHaveLength(1);
  await eventually(() => changes().length === 2);
  expect(changes()).toMatchObject([
    { primary: 'self', previous: { primary: 'unknown' } },
    { primary: 'remote', hostname: 'a:20202', previous: { primary: 'self' } },
  ]);
});

test('pairs of changes reach every reader and no hook', async () => {
  const { agent, connection, changes } = await follow(a);
  const reader = await agent.read('/events');
  await reader.next();
  for (let pair = 0; pair < 60; pair += 1) {
    connection.send({ type: 'primaryChange', data: nobody }, { type: 'primaryChange', data: a });
    expect([await reader.next(), await reader.next()]).toEqual([
      { type: 'primaryChange', data: nobody },
      { type: 'primaryChange', data: a },
    ]);
  }
  expect(agent.replication.status().counts.primary_changes).toBe(120);
  const since_ms = performance.now();
  await eventually(() => performance.now() - since_ms > 1_000);
  expect(changes()).toHaveLength(1);
});

test('a node that cannot be asked knows no primary', async () => {
  const { agent, connection } = await follow({ isPrimary: true });
  connection.cut();
  await eventually(() => agent.replication.status().connection.state === 'waiting');
  expect(agent.replication.isPrimary()).toBeUndefined();
  expect((await agent.get('/v1/replication')).json).toMatchObject({ primary: 'unknown' });
});
