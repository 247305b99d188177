// The gateway of the agent beside other proxies, in one run on one machine: `npm run bench:gateway -- [--rounds N] [--turns N] [--only A,B]`.
// Everything is served over a Unix socket and comes from one local upstream. What counts are ratios, not numbers: all proxies run at the same
// time and have short turns.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { toTable } from '../../src/cli/table.ts';
import { makeBuiltProgram } from '../support/built-program.ts';
import { measureDecision_us } from './gateway/decision.ts';
import { openStreams, readEventDelays, runLoad } from './gateway/load.ts';
import { type StartSubject, type Subject, startAgent, starts, waitFor } from './gateway/subjects.ts';
import { type LoadKind, measureInTurns, type Turn, type TurnsOfLoad, toMedian, toRatio } from './gateway/turns.ts';
import { readMemory } from './process-cost.ts';
import { percentile } from './table.ts';

const BASE = '/v1/gateway/openai/conn_1/v1';
const IDLE_STREAMS = 1_000;
const EVENTS = 100;
/** V8 has compiled by then what each subject runs often. A shorter time flatters the small ones. */
const WARM_MS = 8_000;
const LARGE_MS = 2_000;

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '2' },
    turns: { type: 'string', default: '20' },
    only: { type: 'string' },
  },
});
const rounds = Number(values.rounds);
const turns = Number(values.turns);
const program = await makeBuiltProgram();
const programs: Readonly<Record<string, StartSubject>> = {
  ...starts,
  remora: (dir, port) => startAgent(dir, { port, sprite: 'bench', token: 'bench-token', program }),
};
const names = values.only?.split(',') ?? Object.keys(programs);

const loads = {
  many: { target: `${BASE}/1k`, connections: 32 },
  one: { target: `${BASE}/1k`, connections: 1 },
  large: { target: `${BASE}/1m`, connections: 4 },
} as const satisfies Readonly<Record<string, LoadKind>>;
type LoadName = keyof typeof loads;
const newTurns = (): TurnsOfLoad => ({ turns: new Map(), latencies_us: new Map() });
const measured: Readonly<Record<LoadName, TurnsOfLoad>> = { many: newTurns(), one: newTurns(), large: newTurns() };
/** Figures that are no turns: one for each round, by the name of the subject. */
const alone = {
  mb100: new Map<string, number[]>(),
  delays_us: new Map<string, number[]>(),
  idle_kb: new Map<string, number>(),
};

/** What is no turn: one large answer, and events. */
async function measureAlone({ name, socketPath }: Subject): Promise<void> {
  const load = { socketPath, target: `${BASE}/100m`, connections: 1 };
  await runLoad({ ...load, duration_ms: LARGE_MS / 4 });
  const { bytes, took_ms } = await runLoad({ ...load, duration_ms: LARGE_MS });
  alone.mb100.set(name, [...(alone.mb100.get(name) ?? []), bytes / 1_000 / took_ms]);
  const delays_us = await readEventDelays(socketPath, `${BASE}/sse`, EVENTS);
  alone.delays_us.set(name, [...(alone.delays_us.get(name) ?? []), ...delays_us]);
}

/** Takes a process of its own that has done nothing yet but warm up, so that what is measured is not garbage of what came before. */
async function measureIdle({ name, pid, socketPath }: Subject): Promise<void> {
  if (pid === undefined) return;
  await runLoad({ ...loads.many, socketPath, duration_ms: 1_000 });
  await sleep(500);
  const before_bytes = readMemory(pid).rss_bytes;
  const sockets = await openStreams(socketPath, `${BASE}/idle`, IDLE_STREAMS);
  await sleep(500);
  alone.idle_kb.set(name, (readMemory(pid).rss_bytes - before_bytes) / 1024 / IDLE_STREAMS);
  for (const socket of sockets) socket.destroy();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

const dir = mkdtempSync(join(tmpdir(), 'bench-'));
const directPath = join(dir, 'direct.sock');
const direct: Subject = { name: 'direct', socketPath: directPath };
const upstreamPath = new URL('gateway/upstream.ts', import.meta.url).pathname;
const upstream = spawn(process.execPath, [upstreamPath, directPath], { stdio: ['ignore', 'pipe', 'inherit'] });
const [line]: Buffer[] = await once(upstream.stdout, 'data');
const port = Number(String(line));
const missing = new Set<string>();

/** Runs `work` with those of the programs that are installed. */
async function withSubjects(
  which: readonly string[],
  round: string,
  work: (subjects: readonly Subject[]) => Promise<void>,
): Promise<void> {
  await using running = new AsyncDisposableStack();
  const subjects: Subject[] = [];
  for (const name of which) {
    const own = join(dir, `${name.replaceAll('/', '-')}-${round}`);
    mkdirSync(own);
    const socketPath = join(own, 's.sock');
    const child = programs[name]?.(own, port, socketPath);
    if (child?.pid === undefined) {
      missing.add(name);
      continue;
    }
    running.defer(() => end(child));
    await waitFor(child, socketPath);
    subjects.push({ name, socketPath, pid: child.pid });
  }
  await work(subjects);
}

try {
  for (let round = 0; round < rounds; round += 1) {
    console.error(`round ${round + 1} of ${rounds}`);
    await withSubjects(names, String(round), async (started) => {
      const subjects = [direct, ...started];
      for (const { socketPath } of subjects) await runLoad({ ...loads.many, socketPath, duration_ms: WARM_MS });
      for (const name of ['many', 'one', 'large'] as const)
        await measureInTurns(subjects, loads[name], turns, measured[name]);
      for (const subject of subjects) await measureAlone(subject);
    });
  }
  for (const name of names) {
    await withSubjects([name], 'idle', async (subjects) => {
      for (const subject of subjects) await measureIdle(subject);
    });
  }
} finally {
  await end(upstream);
  rmSync(dir, { recursive: true });
}

for (const name of missing) console.log(`!! ${name} IS NOT INSTALLED: it is missing from this table`);
const subjects = ['direct', ...names.filter((name) => !missing.has(name))];
const digits = (value: number) => (Number.isNaN(value) ? '-' : value < 10 ? value.toFixed(1) : value.toFixed(0));
const row = (title: string, figure: (name: string) => number) => [
  title,
  ...subjects.map((name) => digits(figure(name))),
];
const median = (load: LoadName, name: string, pick: (turn: Turn) => number) =>
  toMedian(measured[load].turns, name, pick);
const late = (load: LoadName, name: string) => percentile(measured[load].latencies_us.get(name) ?? [], 0.99);
const cpu = ({ cpu_us }: Turn) => cpu_us;
const latency = ({ median_us }: Turn) => median_us;
const throughput = ({ megabytesPerSecond }: Turn) => megabytesPerSecond;
const table = [
  row('1 KB, 32 connections: CPU a request, µs', (name) => median('many', name, cpu)),
  row('1 KB, 32 connections: median, µs', (name) => median('many', name, latency)),
  row('1 KB, 32 connections: 99th percentile, µs', (name) => late('many', name)),
  row('1 KB, 32 connections: requests a second', (name) => median('many', name, ({ perSecond }) => perSecond)),
  row('1 KB, 1 connection: CPU a request, µs', (name) => median('one', name, cpu)),
  row('1 KB, 1 connection: median, µs', (name) => median('one', name, latency)),
  row('1 KB, 1 connection: 99th percentile, µs', (name) => late('one', name)),
  row('1 MB, 4 connections: CPU a request, µs', (name) => median('large', name, cpu)),
  row('1 MB, 4 connections: MB/s', (name) => median('large', name, throughput)),
  row('100 MB, 1 connection: MB/s', (name) => percentile(alone.mb100.get(name) ?? [], 0.5)),
  row('event delay: median, µs', (name) => percentile(alone.delays_us.get(name) ?? [], 0.5)),
  row('event delay: 99th percentile, µs', (name) => percentile(alone.delays_us.get(name) ?? [], 0.99)),
  row(`${IDLE_STREAMS} idle streams: KB each`, (name) => alone.idle_kb.get(name) ?? Number.NaN),
];
for (const text of toTable([['', ...subjects], ...table])) console.log(text);

const ratio = (load: LoadName, other: string, pick: (turn: Turn) => number) =>
  toRatio(measured[load].turns, 'remora', other, pick).toFixed(2);
const dearer = ['http-proxy', 'httpxy', '@fastify/http-proxy'].filter((name) => subjects.includes(name));
const added = (name: string) => median('one', name, latency) - median('one', 'direct', latency);
console.log(`\nmedians of ${rounds * turns} turns, and of the ratios within each turn`);
console.log(
  `cpu a request, remora / node:http + undici: ${ratio('many', 'node:http + undici', cpu)} (bar: at most 1.6)`,
);
console.log(`... / ${dearer.map((name) => `${name}: ${ratio('many', name, cpu)}`).join(', ')} (bar: below 1)`);
console.log(`... 1 connection, remora / node:http + undici: ${ratio('one', 'node:http + undici', cpu)}`);
console.log(
  `added median, 1 connection, remora / nginx: ${(added('remora') / added('nginx')).toFixed(1)} (bar: at most 1.5)`,
);
console.log(`throughput at 1 MB, remora / nginx: ${ratio('large', 'nginx', throughput)} (bar: at least 0.9)`);
console.log(`a decision on a plain path: ${measureDecision_us().toFixed(2)} µs (bar: under 5)`);
