// Bodies in chunks of one byte, through a real agent and a real platform: what is cut finely may not cost what it does not weigh.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { readCpu_ms, readMemory } from '../../bench/process-cost.ts';
import { startAgent } from '../../support/agent-process.ts';
import { openRaw } from '../../support/raw-http.ts';
import { openRawUpstream } from '../../support/raw-upstream.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { startTenants } from '../../support/tenants.ts';
import { untilJudged } from '../../support/until-judged.ts';

const MEGABYTE = 1024 * 1024;
const whole = Buffer.alloc(MEGABYTE, 'a');
const fine = Buffer.from(`${'1\r\na\r\n'.repeat(MEGABYTE)}0\r\n\r\n`);
/** Times the CPU of the same bytes in one piece. */
const MOST = 20;
/** How often both are measured before the ratio is believed. */
const BATCHES_MAX = 8;

async function openStack() {
  const provider = await openRawUpstream();
  const { url, pid, tenants } = await startTenants([provider.origin, provider.origin]);
  const dir = tempDir();
  const tokenFile = join(dir, 'token');
  writeFileSync(tokenFile, tenants[0].token);
  const env = { REMORA_BASE_URL: url, REMORA_SPRITE: 'dev-1', REMORA_TOKEN_FILE: tokenFile };
  const agent = await startAgent(env, dir);
  await untilJudged(agent);
  let count = 0;
  return {
    pids: { agent: agent.child.pid ?? 0, platform: pid },
    async call(head: string) {
      const caller = openRaw(agent.socket, `${head.replace(' /', ` ${tenants[0].prefix}/`)} HTTP/1.1\r\nHost: a\r\n`);
      count += 1;
      return { caller, connection: provider.connection(count - 1) };
    },
  };
}

type Stack = Awaited<ReturnType<typeof openStack>>;

async function download({ call }: Stack, length: string, body: Buffer): Promise<void> {
  const { caller, connection } = await call('GET /x');
  caller.socket.write('Connection: close\r\n\r\n');
  caller.socket.removeAllListeners('data');
  let received_bytes = 0;
  caller.socket.on('data', (chunk: Buffer) => {
    received_bytes += chunk.length;
  });
  const { socket, until } = await connection;
  await until(/\r\n\r\n$/);
  socket.end(Buffer.concat([Buffer.from(`HTTP/1.1 200 OK\r\nConnection: close\r\n${length}\r\n\r\n`), body]));
  await once(caller.socket, 'close');
  expect(received_bytes).toBeGreaterThan(MEGABYTE);
}

async function upload({ call }: Stack, length: string, body: Buffer): Promise<void> {
  const { caller, connection } = await call('POST /x');
  caller.socket.write(`Connection: close\r\n${length}\r\n\r\n`);
  caller.socket.write(body);
  const { socket } = await connection;
  socket.removeAllListeners('data');
  let received_bytes = 0;
  await new Promise<void>((resolve) => {
    socket.on('data', (chunk: Buffer) => {
      received_bytes += chunk.length;
      if (received_bytes >= MEGABYTE && (body === whole || chunk.toString('latin1').endsWith('0\r\n\r\n'))) resolve();
    });
  });
  socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok');
  expect(await caller.ended).toMatch(/ok$/);
}

function least(some: readonly number[], others: readonly number[]): number[] {
  return some.map((cost, index) => Math.min(cost, others[index] ?? cost));
}

it.each([
  ['comes', download],
  ['goes', upload],
])('a body that %s in chunks of one byte costs at most twenty times its CPU', async (_name, run) => {
  const stack = await openStack();
  const pids = Object.values(stack.pids);
  const measure = async (times: number, body: Buffer) => {
    const length = body === whole ? `Content-Length: ${MEGABYTE}` : 'Transfer-Encoding: chunked';
    const before = pids.map(readCpu_ms);
    for (let round = 0; round < times; round += 1) await run(stack, length, body);
    return pids.map((pid, index) => (readCpu_ms(pid) - (before[index] ?? 0)) / times);
  };
  // The least of several, because other work on the machine makes the same instructions dearer.
  let [ofWhole, ofFine] = [await measure(10, whole), await measure(2, fine)];
  for (let batch = 1; batch < BATCHES_MAX; batch += 1) {
    ofWhole = least(ofWhole, await measure(10, whole));
    ofFine = least(ofFine, await measure(2, fine));
    if (ofFine.every((cost, index) => cost < MOST * (ofWhole[index] ?? 0))) break;
  }
  for (const [index, cost] of ofFine.entries()) expect(cost).toBeLessThan(MOST * (ofWhole[index] ?? 0));
});

it('answers in such chunks that nobody reads cost no memory', async () => {
  const stack = await openStack();
  const open = (count: number) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const { caller, connection } = await stack.call('GET /x');
        caller.socket.write('\r\n');
        caller.socket.removeAllListeners('data');
        const { socket, until } = await connection;
        await until(/\r\n\r\n$/);
        socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n');
        await flood(socket);
      }),
    );
  const pids = Object.values(stack.pids);
  await open(2);
  const before = pids.map((pid) => readMemory(pid).rss_bytes);
  await open(8);
  const grown = pids.map((pid, index) => readMemory(pid).rss_bytes - (before[index] ?? 0));
  // Where each chunk is kept by itself, these streams hold some five hundred megabytes.
  for (const bytes of grown) expect(bytes).toBeLessThan(160 * MEGABYTE);
});

it.each([
  ['come', download],
  ['go', upload],
])('eight bodies that %s in such chunks, and are read, cost no memory', async (_name, run) => {
  const stack = await openStack();
  const pids = Object.values(stack.pids);
  const rss_bytes = () => pids.map((pid) => readMemory(pid).rss_bytes);
  const open = (count: number) =>
    Promise.all(Array.from({ length: count }, () => run(stack, 'Transfer-Encoding: chunked', fine)));
  await open(1);
  const before = rss_bytes();
  let most = before;
  const sampling = setInterval(() => {
    const now = rss_bytes();
    most = most.map((bytes, index) => Math.max(bytes, now[index] ?? 0));
  }, 50);
  await open(8).finally(() => clearInterval(sampling));
  for (const [index, bytes] of most.entries()) expect(bytes - (before[index] ?? 0)).toBeLessThan(160 * MEGABYTE);
});

/** Sends a megabyte in chunks of one byte, or less when the other side takes nothing more. */
async function flood(socket: Socket): Promise<void> {
  const block = fine.subarray(0, 6 * 8 * 1024);
  for (let sent_bytes = 0; sent_bytes < MEGABYTE; sent_bytes += block.length / 6) {
    if (socket.write(block)) continue;
    const isTaken = await Promise.race([
      once(socket, 'drain').then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, 1_500, false)),
    ]);
    if (!isTaken) return;
  }
}
