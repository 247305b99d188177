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

const RUN_MS = Number(process.env.BENCH_RUN_MS ?? 10_000);
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

/** The answers of the socket meanwhile, one after the other with a pause. */
async function askSocket(client: Client, until: AbortSignal): Promise<number[]> {
  const took_ms: number[] = [];
  while (!until.aborted) {
    const begun_ms = performance.now();
    const { body } = await client.request({ method: 'GET', path: '/v1/replication/app.db' });
    await body.dump();
    took_ms.push(performance.now() - begun_ms);
    await sleep(5);
  }
  return took_ms.sort((a, b) => a - b);
}

/** When the last transaction that was sent has been taken; `seq` is that of the last row of the cache. */
async function untilTaken(agent: ChildProcess, transactions: number): Promise<Reading> {
  for (;;) {
    const now = await ask(agent, reading);
    if (now.transactions >= transactions) return now;
    await sleep(5);
  }
}

async function run(readers: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'remora-bench-'));
  const path = join(dir, 'agent.sock');
  const node = start('node.ts');
  const { url = '' } = await hear(node, ready);
  const agent = start('agent.ts', path, dir, url);
  await hear(agent, ready);
  const listening = start('readers.ts', path, String(readers));
  await hear(listening, ready);
  const client = new Client('http://agent', { connect: { socketPath: path } });
  try {
    node.send('start');
    await sleep(2_000);
    const before = await ask(agent, reading);
    const begun_ms = performance.now();
    const over = new AbortController();
    const answers = askSocket(client, over.signal);
    await sleep(RUN_MS / 2);
    const half = await ask(agent, reading);
    await sleep(RUN_MS / 2);
    const end = await ask(agent, reading);
    over.abort();
    const took_ms = await answers;
    const { transactions } = await ask(node, sent);
    await untilTaken(agent, transactions);
    // Reading the cache waits for everything that was given to it.
    const { body } = await client.request({ method: 'GET', path: '/v1/replication/app.db/transactions?limit=1000' });
    const page = transactionPage.parse(await body.json());
    const elapsed_ms = performance.now() - begun_ms;
    const { open } = await ask(listening, received);
    const rate = Math.round(((transactions - before.transactions) / elapsed_ms) * 1_000);
    const at = (share: number) => (took_ms[Math.floor(took_ms.length * share)] ?? Number.NaN).toFixed(1);
    console.log(
      [
        `${readers} readers (${open} kept up)`.padEnd(24),
        `${rate.toLocaleString('en')} tx/s`.padStart(14),
        `rss ${(before.rss_bytes / MEGABYTE).toFixed(0)} → ${(half.rss_bytes / MEGABYTE).toFixed(0)} → ${(end.rss_bytes / MEGABYTE).toFixed(0)} MB`,
        `loop p99 ${Math.max(half.loop_p99_ms, end.loop_p99_ms).toFixed(1)} ms, max ${Math.max(half.loop_max_ms, end.loop_max_ms).toFixed(1)} ms`,
        `socket p50 ${at(0.5)} p99 ${at(0.99)} ms`,
        `cpu ${(((half.cpu_ms + end.cpu_ms) / RUN_MS) * 100).toFixed(0)} %`,
        `cache ${end.cache}, ${end.gaps} gaps, ${page.transactions.filter((row) => row.type === 'gap').length} rows of gaps`,
      ].join(' | '),
    );
  } finally {
    await client.destroy();
    for (const child of [node, agent, listening]) {
      const gone = once(child, 'exit');
      child.disconnect();
      await gone;
    }
    rmSync(dir, { recursive: true });
  }
}

for (const readers of [1, 10, 100]) await run(readers);
