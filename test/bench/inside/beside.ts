// Small calls while many streams are open and a large file goes through the same channel.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { WebSocket } from 'ws';
import { type Figure, percentile } from '../table.ts';
import { runTimed } from './run-timed.ts';
import type { BenchSprite } from './sprite.ts';

const BAR_MS = 50;
const STREAMS = 200;
const MEGABYTES = 100;

export async function measureBeside(sprite: BenchSprite, rounds: number, dir: string): Promise<Figure[]> {
  const { url, token } = sprite;
  const file = join(dir, 'beside');
  execFileSync('dd', ['if=/dev/urandom', `of=${file}`, 'bs=1M', `count=${MEGABYTES}`, 'status=none']);
  const headers = { authorization: `Bearer ${token}` };
  const pool = new Pool(new URL(url).origin, { connections: 1 });
  const path = `${new URL(url).pathname}/services`;
  const call = async () => {
    const begun_ms = performance.now();
    const { statusCode, body } = await pool.request({ method: 'GET', path, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`a small call was answered with ${statusCode}`);
    return performance.now() - begun_ms;
  };
  const quiet_ms = [];
  for (let index = 0; index < 200; index += 1) quiet_ms.push(await call());
  const begun_ms = performance.now();
  const sockets = await Promise.all(Array.from({ length: STREAMS }, () => openSession(sprite)));
  const opened_ms = performance.now() - begun_ms;
  const busy_ms: number[] = [];
  const loads: number[] = [];
  const callUntil = async (isOver: () => boolean) => {
    while (!isOver()) busy_ms.push(await call());
  };
  for (let round = 0; round < rounds; round += 1) {
    for (const words of [
      ['-o', '/dev/null', `${url}/fs/read?workingDir=/&path=${file}`],
      ['-o', '/dev/null', '-T', file, '-H', 'expect:', `${url}/fs/write?workingDir=/&path=${file}-copy`],
    ]) {
      const run = { isOver: false };
      const load = runTimed('curl', ['-sSf', '-H', `authorization: Bearer ${token}`, ...words]).finally(() => {
        run.isOver = true;
      });
      const [took_ms] = await Promise.all([load, callUntil(() => run.isOver)]);
      loads.push((MEGABYTES * 1.048576 * 1_000) / took_ms);
    }
  }
  for (const socket of sockets) socket.terminate();
  await pool.close();
  for (const each of [file, `${file}-copy`]) rmSync(each, { force: true });
  const p99_ms = percentile(busy_ms, 0.99);
  return [
    { what: `${STREAMS} processes opened at once`, value: `${opened_ms.toFixed(0)} ms` },
    { what: 'small calls alone: median · p99', value: toText(quiet_ms) },
    { what: `small calls beside ${STREAMS} streams and ${MEGABYTES} MB, median`, value: toText(busy_ms) },
    { what: 'the same, p99', value: `${p99_ms.toFixed(1)} ms`, bar: `≤ ${BAR_MS} ms`, met: p99_ms <= BAR_MS },
    { what: 'the transfer meanwhile, least', value: `${Math.min(...loads).toFixed(0)} MB/s` },
  ];
}

function toText(times_ms: readonly number[]): string {
  return `${percentile(times_ms, 0.5).toFixed(1)} · ${percentile(times_ms, 0.99).toFixed(1)} ms`;
}

/** A process that waits for input. */
async function openSession({ url, token }: BenchSprite): Promise<WebSocket> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/exec?cmd=cat&stdin=true`, {
    headers: { authorization: `Bearer ${token}` },
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  socket.once('open', resolve).on('error', reject);
  await promise;
  return socket;
}
