// GET /events: the node's stream again, for any number of readers over one connection.
import { expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import { openRaw } from '../../../support/raw-http.ts';
import { startReplicationAgent } from '../../../support/replication-agent.ts';
import { startNode, tx } from '../../../support/scripted-node.ts';

test('it looks like the stream of a node', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const reader = await agent.read('/events');
  expect(reader.response.statusCode).toBe(200);
  expect(reader.response.headers['content-type']).toBe('application/json');
  expect(await reader.next()).toEqual({ type: 'init', data: { isPrimary: true } });
  connection.send(tx('a', 1));
  expect(await reader.next()).toEqual(tx('a', 1));
});

test('a hundred readers share one connection and get the same, each with init first', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const readers = await Promise.all(Array.from({ length: 100 }, () => agent.read('/events')));
  const sent = Array.from({ length: 20 }, (_, i) => tx('a', i + 1));
  connection.send(...sent);
  for (const reader of readers) {
    expect(await reader.next()).toMatchObject({ type: 'init' });
    for (const event of sent) expect(await reader.next()).toEqual(event);
  }
  expect(node.arrivals_ms).toHaveLength(1);
  expect(agent.replication.status().readers).toBe(100);
  for (const reader of readers) reader.close();
  await eventually(() => agent.replication.status().readers === 0);
});

test('init tells the current primary, and keeps what the node says besides', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open({ type: 'init', version: 2, data: { isPrimary: false, hostname: 'a:20202', region: 'ams' } });
  await agent.connected();
  const early = await agent.read('/events');
  await early.next();
  const read = async () => await (await agent.read('/events')).next();
  const changes = [
    { data: { isPrimary: false, hostname: 'b:20202' }, init: { isPrimary: false, hostname: 'b:20202', region: 'ams' } },
    { data: { isPrimary: false }, init: { isPrimary: false, region: 'ams' } },
    { data: { isPrimary: true }, init: { isPrimary: true, region: 'ams' } },
  ];
  for (const { data, init } of changes) {
    connection.send({ type: 'primaryChange', data });
    await early.next();
    expect(await read()).toEqual({ type: 'init', version: 2, data: init });
  }
});

test('a reader that comes before the node waits, and then gets init', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  const reader = await agent.read('/events');
  expect(reader.response.statusCode).toBe(200);
  expect(agent.replication.status().readers).toBe(1);
  connection.open();
  connection.send(tx('a', 1));
  expect(await reader.next()).toEqual({ type: 'init', data: { isPrimary: true } });
  expect(await reader.next()).toEqual(tx('a', 1));
});

test('readers end with the connection to the node, so that they see the possible gap', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0 });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const reader = await agent.read('/events');
  await reader.next();
  connection.cut();
  expect(await reader.ended).toBe('end');
  const again = await agent.read('/events');
  (await node.next()).open();
  expect(await again.next()).toMatchObject({ type: 'init' });
});

test('no line is empty, and server-sent events are there for those who ask', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const accept = 'Accept: text/event-stream\r\n';
  const events = openRaw(agent.path, `GET /events HTTP/1.1\r\nHost: x\r\n${accept}\r\n`);
  await events.until(/text\/event-stream[\s\S]*data: \{"type":"init","data":\{"isPrimary":true\}\}\n\n/);
  const lines = openRaw(agent.path, 'GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
  await lines.until(/init/);
  connection.send(tx('a', 1));
  await events.until(/data: \{"type":"tx"/);
  expect(await lines.until(/"tx"/)).not.toMatch(/\n\n(?!\r\n)/);
});

test('a reader that never reads is cut and delays nobody', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url });
  const connection = await node.next();
  connection.open();
  await agent.connected();
  const stuck = openRaw(agent.path, 'GET /events HTTP/1.1\r\nHost: x\r\n\r\n');
  stuck.socket.pause();
  await eventually(() => agent.replication.status().readers === 1);
  const reader = await agent.read('/events');
  await reader.next();
  const filler = 'x'.repeat(16_000);
  let sent = 0;
  while (agent.replication.status().readers === 2 && sent < 2_000) {
    sent += 1;
    connection.send({ ...tx('a', sent), filler });
    expect(await reader.next()).toMatchObject({ type: 'tx' });
  }
  expect(agent.replication.status().readers).toBe(1);
  expect(agent.replication.status().counts).toMatchObject({ transactions: sent, gaps: 0 });
});
