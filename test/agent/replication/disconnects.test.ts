// Lesson 18, smaller: many events, many forced disconnects. Every transaction is a row, or lies inside a recorded gap.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { startReplicationAgent } from '../../support/replication-agent.ts';
import { type NodeConnection, startNode, tx } from '../../support/scripted-node.ts';

const EVENTS = 5_000;
const DISCONNECTS = 20;
const DATABASES = ['a', 'b', 'c'];

interface Row {
  readonly type: 'tx' | 'gap';
  readonly seq: number;
  readonly txID: string;
  readonly from: string;
  readonly to: string;
  readonly cause: string;
}

test('every transaction that was lost lies inside a recorded gap', async () => {
  const node = await startNode();
  const agent = await startReplicationAgent({ nodeUrl: node.url, random: () => 0, timing: { stable_ms: 0 } });
  const written = new Map(DATABASES.map((db) => [db, 0]));
  let connection: NodeConnection | undefined;
  node.onRequest((next) => {
    next.open();
    connection = next;
  });
  await agent.connected();
  let lost = 0;
  for (let n = 1; n <= EVENTS; n += 1) {
    const db = DATABASES[n % DATABASES.length] ?? 'a';
    const id = (written.get(db) ?? 0) + 1;
    written.set(db, id);
    if (connection === undefined) lost += 1;
    else connection.send(tx(db, id));
    if (n % (EVENTS / DISCONNECTS) === 0) {
      if (n % 2 === 0) await sleep(3);
      connection?.cut();
      connection = undefined;
    } else if (n % 50 === 0) {
      await sleep(n % (EVENTS / DISCONNECTS) === 50 ? 280 : 1);
    }
  }
  if (connection === undefined) await agent.connected();
  for (const [db, id] of written) {
    written.set(db, id + 1);
    await expect.poll(() => connection, { timeout: 5_000 }).toBeDefined();
    (connection as NodeConnection | undefined)?.send(tx(db, id + 1));
    await agent.reaches(db, id + 1);
  }
  expect(lost).toBeGreaterThan(100);
  expect(agent.replication.status().connection.connects).toBeGreaterThanOrEqual(DISCONNECTS);
  expect(node.mostAtOnce).toBe(1);

  let rows = 0;
  for (const [db, last] of written) {
    const seen = new Set<number>();
    let cursor = '';
    for (;;) {
      const page = (await agent.get(`/v1/replication/${db}/transactions?limit=1000${cursor}`)).json as {
        transactions: Row[];
        next: string;
      };
      if (page.transactions.length === 0) break;
      cursor = `&cursor=${page.next}`;
      for (const row of page.transactions) {
        const from = Number(`0x${row.type === 'gap' ? row.from : row.txID}`);
        const to = Number(`0x${row.type === 'gap' ? row.to : row.txID}`);
        for (let id = from; id <= to; id += 1) {
          expect(seen.has(id)).toBe(false);
          seen.add(id);
        }
        if (row.type === 'gap') expect(row.cause).toBe('disconnected');
        else rows += 1;
      }
    }
    expect(seen.size).toBe(last);
    expect(Math.max(...seen)).toBe(last);
  }
  expect(rows).toBe(agent.replication.status().counts.transactions);
});
