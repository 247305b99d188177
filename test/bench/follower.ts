// How fast the follower is on this machine: transactions a second into the cache with 1, 10 and 100 readers, what that does to
// memory and to the socket, and how soon a waiting caller wakes: `npm run bench:follower`.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';
import type { z } from 'zod';
import { transactionPage } from '../../src/contract/local/replication.ts';
import { type Reading, reading, ready, received, sent } from './follower/messages.ts';
import { openWakeUpNode } from './follower/wake-up.ts';

const RUN_MS = 10_000;
const WARM_UP_MS = 2_000;
/** What the node sends a second, 0 as fast as it is taken: down to what every reader can read, on the cores of all of them. */
const RATES = [0, 100_000, 50_000, 20_000, 10_000];
const ROUNDS = 200;
const WAITERS = 5_000;
const MEGABYTE = 1024 * 1024;

function start(file: string, ...args: string[]): ChildProcess {
  return fork(new URL(`follower/${file}`, import.meta.url), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
}

async function hear<T>(child: ChildProcess, schema: z.ZodType<T>): Promise<T> {
  const [message] = await once(child, 'message');
  return schema.parse(message);
}

async function ask<T>(child: ChildProcess, schema: z.ZodType<T>): Promise<T> {
  const answer = hear(child, schema);
  child.send('go');
  return await answer;
}

/** A directory, an agent that follows `url`, and a client of its socket; all gone at the end. */
async function openAgent(url: string) {
  const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
  const path = join(dir, 'agent.sock');
  const agent = start('agent.ts', path, dir, url);
  await hear(agent, ready);
  const client = new Client('http://agent', { connect: { socketPath: path } });
  return {
    path,
    agent,
    client,
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await end(agent);
      rmSync(dir, { recursive: true });
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  const gone = once(child, 'exit');
  child.disconnect();
  await gone;
}

/** What the socket takes to answer meanwhile, one call after the other. */
async function askSocket(client: Client, over: AbortSignal): Promise<number[]> {
  const took_ms: number[] = [];
  while (!over.aborted) {
    const begun_ms = performance.now();
    const { body } = await client.request({ method: 'GET', path: '/v1/replication/app.db' });
    await body.dump();
    took_ms.push(performance.now() - begun_ms);
    await sleep(5);
  }
  return took_ms.sort((a, b) => a - b);
}

async function until(agent: ChildProcess, isSo: (now: Reading) => boolean): Promise<void> {
  while (!isSo(await ask(agent, reading))) await sleep(5);
}

/** Whether the first reader has every line, init too, soon. */
async function untilRead(listening: ChildProcess, transactions: number): Promise<boolean> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const { lines } = await ask(listening, received);
    if (lines > transactions) return true;
    await sleep(20);
  }
  return false;
}

/** Callers that wait all the time. */
async function startWaiters(agent: ChildProcess, path: string, count: number): Promise<ChildProcess> {
  const waiting = start('waiters.ts', path, String(count));
  await hear(waiting, ready);
  await until(agent, ({ waiters }) => waiters === count);
  return waiting;
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
const toMegabytes = ({ rss_bytes }: Reading) => (rss_bytes / MEGABYTE).toFixed(0);

/** True when every reader got everything. */
async function flood(readers: number, waiters: number, wanted: number): Promise<boolean> {
  const node = start('node.ts', String(wanted));
  const { url = '' } = await hear(node, ready);
  await using opened = await openAgent(url);
  const { agent, client, path } = opened;
  const listening = start('readers.ts', path, String(readers));
  await hear(listening, ready);
  const waiting = await startWaiters(agent, path, waiters);
  try {
    node.send('start');
    await sleep(WARM_UP_MS);
    const before = await ask(agent, reading);
    const begun_ms = performance.now();
    const over = new AbortController();
    const answers = askSocket(client, over.signal);
    await sleep(RUN_MS / 2);
    const half = await ask(agent, reading);
    await sleep(RUN_MS / 2);
    const last = await ask(agent, reading);
    over.abort();
    const took_ms = await answers;
    const { transactions } = await ask(node, sent);
    await until(agent, (now) => now.transactions >= transactions);
    // Reading the cache waits for everything that was given to it.
    const { body } = await client.request({ method: 'GET', path: '/v1/replication/app.db/transactions?limit=1000' });
    const page = transactionPage.parse(await body.json());
    const rate = (transactions - before.transactions) / ((performance.now() - begun_ms) / 1_000);
    const { readers: kept } = await ask(agent, reading);
    const isWhole = kept === readers && (await untilRead(listening, transactions));
    const lost = page.transactions.filter((row) => row.type === 'gap' && row.cause !== 'trimmed').length;
    const cells = [
      String(readers),
      wanted === 0 ? 'all it can' : wanted.toLocaleString('en'),
      isWhole ? 'all' : `${kept}`,
      waiters.toLocaleString('en'),
      Math.round(rate).toLocaleString('en'),
      `${toMegabytes(before)}, ${toMegabytes(half)}, ${toMegabytes(last)}`,
      Math.max(half.loop_p99_ms, last.loop_p99_ms).toFixed(1),
      `${at(took_ms, 0.5).toFixed(1)}, ${at(took_ms, 0.99).toFixed(1)}`,
      `${last.cache}, ${lost} gaps`,
    ];
    console.log(`| ${cells.join(' | ')} |`);
    return isWhole;
  } finally {
    for (const child of [node, listening, waiting]) await end(child);
  }
}

async function wakeUp(waiters: number): Promise<void> {
  using node = await openWakeUpNode();
  await using opened = await openAgent(node.url);
  const waiting = await startWaiters(opened.agent, opened.path, waiters);
  try {
    await node.measure(opened.client, ROUNDS / 4);
    const took_ms = await node.measure(opened.client, ROUNDS);
    const values = [0.5, 0.95, 0.99].map((share) => at(took_ms, share).toFixed(2));
    console.log(`| ${waiters.toLocaleString('en')} | ${values.join(' | ')} |`);
  } finally {
    await end(waiting);
  }
}

console.log(
  '| readers | tx/s sent | readers that got all | waiters | tx/s into the cache | resident MB: begin, middle, end | loop delay p99 ms | socket p50, p99 ms | cache |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
for (const readers of [1, 10, 100]) {
  for (const rate of RATES) if (await flood(readers, 0, rate)) break;
}
await flood(1, WAITERS, 0);
console.log('\n| others that wait | wake-up p50 ms | p95 | p99 |\n|---|---|---|---|');
await wakeUp(0);
await wakeUp(WAITERS);
