// How fast the follower is on this machine: transactions a second into the cache with 1, 10 and 100 readers, what that does to
// memory and to the socket, how soon a waiting caller wakes, and whether memory stays flat for minutes: `npm run bench:follower`.
// BENCH_ONLY=rate, wake-up or memory runs one part, BENCH_MEMORY_MS is the time of the last for each number of readers.
import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'undici';
import { transactionPage } from '../../src/contract/local/replication.ts';
import { measureMemory } from './follower/memory.ts';
import { type Reading, reading, ready, received, sent } from './follower/messages.ts';
import { ask, end, hear, openAgent, start, until } from './follower/processes.ts';
import { openWakeUpNode } from './follower/wake-up.ts';

const RUN_MS = 10_000;
const WARM_UP_MS = 2_000;
/** What the node sends a second, 0 as fast as it is taken: down to what every reader can read, on the cores of all of them. */
const RATES = [0, 100_000, 50_000, 20_000, 10_000];
const ROUNDS = 200;
const WAITERS = 5_000;
const READERS = [1, 10, 100];
const MEMORY_RATE = 10_000;
const MEMORY_MS = Number(process.env.BENCH_MEMORY_MS ?? 120_000);
/** What may have been added after more than a million transactions. */
const FLAT = { heap_bytes: 2 * 1024 * 1024, anonymous_bytes: 10 * 1024 * 1024 };
const only = process.env.BENCH_ONLY;
const MEGABYTE = 1024 * 1024;

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

async function remember(readers: number): Promise<void> {
  const { samples, transactions, whole } = await measureMemory(readers, MEMORY_RATE, MEMORY_MS);
  const heap = samples.map(({ heap_bytes }) => heap_bytes);
  const anonymous = samples.map(({ memory }) => memory.anonymous_bytes);
  const grown = (values: readonly number[]) => (values.at(-1) ?? Number.NaN) - (values[0] ?? Number.NaN);
  const isFlat = grown(heap) <= FLAT.heap_bytes && grown(anonymous) <= FLAT.anonymous_bytes;
  const show = (values: readonly number[]) => values.map((bytes) => (bytes / MEGABYTE).toFixed(1)).join(', ');
  const cells = [
    `${readers}, ${whole === readers ? 'all whole' : `${whole} whole`}`,
    transactions.toLocaleString('en'),
    show(samples.map(({ memory }) => memory.rss_bytes)),
    show(anonymous),
    show(heap),
    show(samples.map(({ buffers_bytes }) => buffers_bytes)),
    show(samples.map(({ disk_bytes }) => disk_bytes)),
    isFlat ? 'met' : 'MISSED',
  ];
  console.log(`| ${cells.join(' | ')} |`);
}

async function printRates(): Promise<void> {
  console.log(
    '| readers | tx/s sent | readers that got all | waiters | tx/s into the cache | resident MB: begin, middle, end | loop delay p99 ms | socket p50, p99 ms | cache |',
  );
  console.log('|---|---|---|---|---|---|---|---|---|');
  for (const readers of READERS) {
    for (const rate of RATES) if (await flood(readers, 0, rate)) break;
  }
  await flood(1, WAITERS, 0);
}

async function printWakeUps(): Promise<void> {
  console.log('\n| others that wait | wake-up p50 ms | p95 | p99 |\n|---|---|---|---|');
  await wakeUp(0);
  await wakeUp(WAITERS);
}

async function printMemory(): Promise<void> {
  console.log(
    `\n${MEMORY_RATE.toLocaleString('en')} transactions a second for ${MEMORY_MS / 1_000} s; MB, seven times each`,
  );
  console.log('| readers | transactions | resident | anonymous | heap after a collection | buffers | files | flat |');
  console.log('|---|---|---|---|---|---|---|---|');
  for (const readers of READERS) await remember(readers);
}

if (only === undefined || only === 'rate') await printRates();
if (only === undefined || only === 'wake-up') await printWakeUps();
if (only === undefined || only === 'memory') await printMemory();
