// The gateway of the agent beside other proxies, in one run on one machine: `npm run bench:gateway -- [--rounds N] [--only A,B]`.
// Everything is served over a Unix socket and comes from one local upstream. What counts are ratios, not numbers.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { toTable } from '../../src/cli/table.ts';
import { measureDecision_us } from './gateway/decision.ts';
import { openStreams, readEventDelays, runLoad } from './gateway/load.ts';
import { readCpu_ms, readResident_bytes } from './gateway/process-cost.ts';
import { type Subject, starts, waitFor } from './gateway/subjects.ts';

const BASE = '/v1/gateway/openai/conn_1/v1';
const IDLE_STREAMS = 1_000;
const EVENTS = 100;
/** V8 has compiled by then what each subject runs often. A shorter time flatters the small ones. */
const WARM_MS = 8_000;

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '3' }, only: { type: 'string' } } });
const rounds = Number(values.rounds);
const names = values.only?.split(',') ?? Object.keys(starts);

/** One figure of one subject, once for each round. */
const figures = new Map<string, Map<string, number[]>>();
const rows = {
  cpu32: '1 KB, 32 connections: CPU a request, µs',
  p50_32: '1 KB, 32 connections: median, µs',
  p99_32: '1 KB, 32 connections: 99th percentile, µs',
  rps32: '1 KB, 32 connections: requests a second',
  cpu1: '1 KB, 1 connection: CPU a request, µs',
  p50_1: '1 KB, 1 connection: median, µs',
  p99_1: '1 KB, 1 connection: 99th percentile, µs',
  mb1: '1 MB, 4 connections: MB/s',
  mb100: '100 MB, 1 connection: MB/s',
  sse50: 'event delay: median, µs',
  sse99: 'event delay: 99th percentile, µs',
  idle: `${IDLE_STREAMS} idle streams: KB each`,
} as const;
type Row = keyof typeof rows;

function note(subject: Subject, row: Row, value: number): void {
  const ofSubject = figures.get(subject.name) ?? new Map<string, number[]>();
  figures.set(subject.name, ofSubject);
  ofSubject.set(row, [...(ofSubject.get(row) ?? []), value]);
}

function median(numbers: readonly number[] = []): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
}

const at = (sorted: readonly number[], share: number) => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;

async function measure(subject: Subject): Promise<void> {
  const { pid, socketPath } = subject;
  await runLoad({ socketPath, target: `${BASE}/1k`, connections: 32, duration_ms: WARM_MS });
  const cpu_ms = () => (pid === undefined ? Number.NaN : readCpu_ms(pid));
  for (const connections of [32, 1] as const) {
    const load = { socketPath, target: `${BASE}/1k`, connections };
    await runLoad({ ...load, duration_ms: 1_000 });
    const before_ms = cpu_ms();
    const { requests, took_ms, latencies_us } = await runLoad({ ...load, duration_ms: 3_000 });
    const each_us = ((cpu_ms() - before_ms) * 1_000) / requests;
    note(subject, connections === 32 ? 'cpu32' : 'cpu1', each_us);
    note(subject, connections === 32 ? 'p50_32' : 'p50_1', at(latencies_us, 0.5));
    note(subject, connections === 32 ? 'p99_32' : 'p99_1', at(latencies_us, 0.99));
    if (connections === 32) note(subject, 'rps32', (requests * 1_000) / took_ms);
  }
  for (const [row, name, connections] of [
    ['mb1', '1m', 4],
    ['mb100', '100m', 1],
  ] as const) {
    const load = { socketPath, target: `${BASE}/${name}`, connections };
    await runLoad({ ...load, duration_ms: 500 });
    const { bytes, took_ms } = await runLoad({ ...load, duration_ms: 2_000 });
    note(subject, row, bytes / 1_000 / took_ms);
  }
  const delays_us = await readEventDelays(socketPath, `${BASE}/sse`, EVENTS);
  note(subject, 'sse50', at(delays_us, 0.5));
  note(subject, 'sse99', at(delays_us, 0.99));
}

/** Takes a process of its own that has done nothing yet but warm up, so that what is measured is not garbage of what came before. */
async function measureIdle(subject: Subject): Promise<void> {
  const { pid, socketPath } = subject;
  if (pid === undefined) return;
  await runLoad({ socketPath, target: `${BASE}/1k`, connections: 32, duration_ms: 1_000 });
  await sleep(500);
  const before_bytes = readResident_bytes(pid);
  const sockets = await openStreams(socketPath, `${BASE}/idle`, IDLE_STREAMS);
  await sleep(500);
  note(subject, 'idle', (readResident_bytes(pid) - before_bytes) / 1024 / IDLE_STREAMS);
  for (const socket of sockets) socket.destroy();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
const directPath = join(dir, 'direct.sock');
const upstreamPath = new URL('gateway/upstream.ts', import.meta.url).pathname;
const upstream = spawn(process.execPath, [upstreamPath, directPath], { stdio: ['ignore', 'pipe', 'inherit'] });
const [line]: Buffer[] = await once(upstream.stdout, 'data');
const port = Number(String(line));
const missing = new Set<string>();

async function withSubject(name: string, round: string, work: (subject: Subject) => Promise<void>): Promise<void> {
  const own = join(dir, `${name.replaceAll('/', '-')}-${round}`);
  mkdirSync(own);
  const socketPath = join(own, 's.sock');
  const child = starts[name]?.(own, port, socketPath);
  if (child?.pid === undefined) {
    missing.add(name);
    return;
  }
  try {
    await waitFor(child, socketPath);
    await work({ name, socketPath, pid: child.pid });
  } finally {
    await end(child);
  }
}

try {
  for (let round = 0; round < rounds; round += 1) {
    console.error(`round ${round + 1} of ${rounds}`);
    await measure({ name: 'direct', socketPath: directPath });
    for (const name of names) await withSubject(name, String(round), measure);
  }
  for (const name of names) await withSubject(name, 'idle', measureIdle);
} finally {
  await end(upstream);
  rmSync(dir, { recursive: true });
}

for (const name of missing) console.log(`!! ${name} IS NOT INSTALLED: it is missing from this table`);
const subjects = ['direct', ...names.filter((name) => !missing.has(name))];
const digits = (value: number) => (Number.isNaN(value) ? '-' : value < 10 ? value.toFixed(1) : value.toFixed(0));
const table = Object.entries(rows).map(([row, title]) => [
  title,
  ...subjects.map((name) => digits(median(figures.get(name)?.get(row)))),
]);
for (const text of toTable([['', ...subjects], ...table])) console.log(text);

const of = (name: string, row: Row) => median(figures.get(name)?.get(row));
const cpu32 = (name: string) => of('remora', 'cpu32') / of(name, 'cpu32');
const dearer = ['http-proxy', 'httpxy', '@fastify/http-proxy'].filter((name) => !missing.has(name));
const added = (name: string) => of(name, 'p50_1') - of('direct', 'p50_1');
const throughput = (row: Row) => (of('remora', row) / of('nginx', row)).toFixed(2);
console.log(
  `\ncpu a request, remora / node:http + undici: ${cpu32('node:http + undici').toFixed(2)} (bar: at most 1.6)`,
);
console.log(`... / ${dearer.map((name) => `${name}: ${cpu32(name).toFixed(2)}`).join(', ')} (bar: below 1)`);
console.log(
  `added median, 1 connection, remora / nginx: ${(added('remora') / added('nginx')).toFixed(1)} (bar: at most 1.5)`,
);
console.log(
  `throughput, remora / nginx: ${throughput('mb1')} at 1 MB (bar: at least 0.9), ${throughput('mb100')} at 100 MB`,
);
console.log(`a decision on a plain path: ${measureDecision_us().toFixed(2)} µs (bar: under 5)`);
