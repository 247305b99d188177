// Many services that a supervisor starts at its boot, in their order, beside a program that only spawns the same.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess } from '../platform/platform.ts';
import { type Figure, percentile } from '../table.ts';

const BAR = 3;
const START_MS = 60_000;
const program = new URL('../../../src/cli/remora.js', import.meta.url).pathname;

export async function measureServices(count: number, rounds: number, parent: string): Promise<Figure[]> {
  const dir = join(parent, 'services');
  mkdirSync(dir);
  const times = join(dir, 'times');
  const script = `date +%s%N >> ${times}; exec sleep 600`;
  const socket = join(dir, 's.sock');
  const start = () => {
    const words = ['--socket', socket, '--state-dir', join(dir, 'state'), '--user', userInfo().username];
    return spawn(process.execPath, [program, 'supervisor', ...words, '--log-level', 'warn'], {
      stdio: ['ignore', 'ignore', 'inherit'],
      env: { PATH: process.env.PATH ?? '' },
    });
  };
  const first = start();
  await untilServed(socket);
  const width = String(count).length;
  for (let index = 0; index < count; index += 1) {
    const name = `service-${String(index).padStart(width, '0')}`;
    await put(socket, `/v1/services/${name}?duration=0s`, { cmd: '/bin/sh', args: ['-c', script] });
  }
  await untilLines(times, count);
  await endProcess(first);
  const own_ms: number[] = [];
  const plain_ms: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    rmSync(times, { force: true });
    const supervisor = start();
    own_ms.push(toSpan_ms(await untilLines(times, count)));
    await endProcess(supervisor);
    rmSync(times, { force: true });
    const children = [];
    for (let index = 0; index < count; index += 1) {
      const child = spawn('/bin/sh', ['-c', script], { stdio: ['ignore', 'pipe', 'pipe'], detached: true });
      await once(child, 'spawn');
      children.push(child);
    }
    plain_ms.push(toSpan_ms(await untilLines(times, count)));
    await Promise.all(children.map(endProcess));
  }
  const [own, plain] = [percentile(own_ms, 0.5), percentile(plain_ms, 0.5)];
  return [
    { what: `${count} services, from the first start to the last`, value: `${own.toFixed(0)} ms` },
    { what: `${count} programs by spawn, the same`, value: `${plain.toFixed(0)} ms` },
    { what: 'services to spawn', value: (own / plain).toFixed(2), bar: `≤ ${BAR}`, met: own / plain <= BAR },
  ];
}

function toSpan_ms(lines: readonly string[]): number {
  const sorted = lines.map(BigInt).toSorted((a, b) => (a < b ? -1 : 1));
  return Number((sorted.at(-1) ?? 0n) - (sorted[0] ?? 0n)) / 1e6;
}

async function untilLines(path: string, count: number): Promise<readonly string[]> {
  const end_ms = performance.now() + START_MS;
  for (;;) {
    const lines = readLines(path);
    if (lines.length >= count) return lines;
    if (performance.now() > end_ms) throw new Error(`${lines.length} of ${count} services were started`);
    await sleep(20);
  }
}

function readLines(path: string): readonly string[] {
  try {
    return readFileSync(path, 'latin1').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}

async function untilServed(socket: string): Promise<void> {
  const end_ms = performance.now() + START_MS;
  while (!(await send(socket, 'GET', '/v1/services').catch(() => false))) {
    if (performance.now() > end_ms) throw new Error('the supervisor does not serve');
    await sleep(50);
  }
}

async function put(socket: string, path: string, body: object): Promise<void> {
  if (!(await send(socket, 'PUT', path, JSON.stringify(body)))) throw new Error(`PUT ${path} was refused`);
}

function send(socketPath: string, method: string, path: string, body?: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const asking = request({ socketPath, method, path, headers: { 'content-type': 'application/json' } });
    asking.once('response', (answer) => {
      answer.resume().once('close', () => resolve((answer.statusCode ?? 500) < 300));
    });
    asking.once('error', reject);
    asking.end(body);
  });
}
