// Many events and many forced disconnects, and then a check that each transaction of the node is a row or lies inside a
// recorded gap.
import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import { transactionPage } from '../../src/contract/local/replication.ts';
import { eventually } from './eventually.ts';
import { startReplicationAgent } from './replication-agent.ts';
import { type NodeConnection, startNode, tx } from './scripted-node.ts';

const DATABASES = ['a', 'b', 'c'];
/** Events between two pauses, so that the agent reads in many pieces. */
const BURST = 50;

const id = z.string().transform((hex) => Number(`0x${hex}`));
const cursorLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('tx'), db: z.string(), data: z.object({ txID: id }) }),
  z.object({ type: z.literal('gap'), db: z.string(), data: z.object({ from: id, to: id }) }),
  z.object({ type: z.literal('init') }),
  z.object({ type: z.literal('primaryChange') }),
]);

export interface LossOptions {
  readonly events: number;
  readonly disconnects: number;
  /** Rows of history that the agent keeps. */
  readonly historyCap: number;
}

/** What was seen of one database: each id once, whichever way. */
class Account {
  readonly #seen = new Set<number>();

  take(from: number, to: number): void {
    for (let one = from; one <= to; one += 1) {
      if (one < 1 || this.#seen.has(one)) throw new Error(`transaction ${one} is there twice, or is none`);
      this.#seen.add(one);
    }
  }

  /** Every id from 1 to `last` and no other, as none of them is below 1 or there twice. */
  expectAll(last: number): void {
    expect(this.#seen.size).toBe(last);
    for (let one = 1; one <= last; one += 1) if (!this.#seen.has(one)) throw new Error(`transaction ${one} is missing`);
  }
}

/** Fails unless all that was lost lies in gaps. Returns how much was lost, and how many rows the history had let go. */
export async function expectLossInGaps(options: LossOptions): Promise<{ lost: number; trimmed: number }> {
  const { disconnects, events, historyCap } = options;
  const node = await startNode();
  const agent = await startReplicationAgent({
    nodeUrl: node.url,
    random: () => 0,
    timing: { stable_ms: 0 },
    historyCap,
  });
  const written = new Map(DATABASES.map((db) => [db, 0]));
  let connection: NodeConnection | undefined;
  node.onRequest((next) => {
    next.open();
    connection = next;
  });
  await agent.connected();
  const each = events / disconnects;
  let lost = 0;
  for (let n = 1; n <= events; n += 1) {
    const db = DATABASES[n % DATABASES.length] ?? 'a';
    const next = (written.get(db) ?? 0) + 1;
    written.set(db, next);
    if (connection === undefined) lost += 1;
    else connection.send(tx(db, next));
    if (n % each === 0) {
      // Every other time what was sent last is lost on the way.
      if ((n / each) % 2 === 0) await sleep(3);
      connection?.cut();
      connection = undefined;
    } else if (n % each === BURST) {
      // The rest up to the next disconnect is seen.
      await eventually(() => connection !== undefined);
    } else if (n % BURST === 0) {
      await sleep(1);
    }
  }
  await expect.poll(() => connection).toBeDefined();
  for (const [db, last] of written) {
    written.set(db, last + 1);
    (connection as NodeConnection | undefined)?.send(tx(db, last + 1));
    await agent.reaches(db, last + 1);
  }
  const { connection: link, counts } = agent.replication.status();
  expect(link.connects).toBeGreaterThanOrEqual(disconnects);
  expect(node.mostAtOnce).toBe(1);

  let rows = 0;
  let trimmed = 0;
  for (const [db, last] of written) {
    const account = new Account();
    let cursor = '';
    for (;;) {
      const { json } = await agent.get(`/v1/replication/${db}/transactions?limit=1000${cursor}`);
      const page = transactionPage.parse(json);
      if (page.transactions.length === 0) break;
      cursor = `&cursor=${page.next}`;
      for (const row of page.transactions) {
        const [from, to] = row.type === 'gap' ? [row.from, row.to] : [row.txID, row.txID];
        account.take(id.parse(from), id.parse(to));
        if (row.type === 'tx') rows += 1;
        else if (row.cause === 'trimmed') trimmed += row.missing;
        else expect(row.cause).toBe('disconnected');
      }
    }
    account.expectAll(last);
  }
  if (trimmed === 0) {
    expect(rows).toBe(counts.transactions);
    await expectStreamOfAll(await agent.read('/events?since=0'), written);
  }
  return { lost, trimmed };
}

/** The same again, as a reader of the stream gets it. */
async function expectStreamOfAll(
  reader: { next(): Promise<unknown> },
  written: ReadonlyMap<string, number>,
): Promise<void> {
  const accounts = new Map([...written.keys()].map((db) => [db, new Account()]));
  for (;;) {
    const line = cursorLine.parse(await reader.next());
    if (line.type === 'primaryChange') break;
    if (line.type === 'init') continue;
    const [from, to] = line.type === 'gap' ? [line.data.from, line.data.to] : [line.data.txID, line.data.txID];
    accounts.get(line.db)?.take(from, to);
  }
  for (const [db, last] of written) accounts.get(db)?.expectAll(last);
}
