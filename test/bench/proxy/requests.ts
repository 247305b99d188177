// Requests through the proxy in front, beside other proxies before the same kind of upstream, all over TCP.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { openFreePort } from '../../support/free-port.ts';
import { runLoad } from '../gateway/load.ts';
import { starts, waitFor } from '../gateway/subjects.ts';
import { readCpu_ms } from '../process-cost.ts';
import { type Figure, percentile } from '../table.ts';
import type { Door } from './door.ts';

/** Added to what the upstream takes by itself, a call answers later by this much in the middle. */
interface Cost {
  readonly cpu_us: number;
  /** What the agent beside it takes. */
  readonly inside_us: number;
  readonly median_us: number;
}

interface Subject {
  readonly port: number;
  readonly host: string;
  readonly pid: number;
  readonly inside_pid: number | undefined;
}

const others = ['nginx', 'node:http + undici', '@fastify/http-proxy'] as const;
const BESIDE = 'node:http + undici';
const OWN = 'the proxy';
const BAR = 1.3;
const loads = {
  '1 KB, 32 connections': { target: '/1k', connections: 32 },
  '1 KB, 1 connection': { target: '/1k', connections: 1 },
  '1 MB, 4 connections': { target: '/1m', connections: 4 },
} as const;
/** V8 has compiled what each subject runs often by then. A shorter time flatters the small ones. */
const WARM_MS = 8_000;
type LoadName = keyof typeof loads;
const loadNames = Object.keys(loads) as LoadName[];

export async function measureRequests(door: Door, rounds: number, dir: string): Promise<Figure[]> {
  await using stack = new AsyncDisposableStack();
  const upstreamPath = new URL('../gateway/upstream.ts', import.meta.url).pathname;
  const upstream = spawn(process.execPath, [upstreamPath, join(dir, 'beside.sock')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  stack.defer(() => end(upstream));
  const [line]: Buffer[] = await once(upstream.stdout, 'data');
  const port = Number(String(line));

  const subjects = new Map<string, Subject>();
  for (const name of others) {
    const own = join(dir, name.replaceAll(/\W/g, '-'));
    mkdirSync(own);
    const place = await openFreePort();
    const child = starts[name]?.(own, port, place);
    if (child?.pid === undefined) {
      console.log(`!! ${name} IS NOT INSTALLED: it is missing from this table`);
      continue;
    }
    stack.defer(() => end(child));
    await waitFor(child, place, '/1k');
    subjects.set(name, { port: place, host: 'bench', pid: child.pid, inside_pid: undefined });
  }
  const { sprite, host } = door;
  subjects.set(OWN, { port: door.port, host, pid: sprite.platform_pid, inside_pid: sprite.pids().get('agent') });

  for (const { port: socketPath, host: name } of subjects.values()) {
    await runLoad({ socketPath, host: name, ...loads['1 KB, 32 connections'], duration_ms: WARM_MS });
  }
  const costs = new Map<string, Cost[]>();
  const direct_us = new Map<LoadName, number[]>();
  for (let round = 0; round < rounds; round += 1) {
    for (const load of loadNames) {
      const alone = await runLoad({ socketPath: port, ...loads[load], duration_ms: 1_000 });
      direct_us.set(load, [...(direct_us.get(load) ?? []), percentile(alone.latencies_us, 0.5)]);
      for (const [name, subject] of subjects) {
        const key = `${name} ${load}`;
        costs.set(key, [...(costs.get(key) ?? []), await measure(subject, load)]);
      }
    }
  }

  const medianOf = (name: string, load: LoadName, read: (cost: Cost) => number) =>
    percentile((costs.get(`${name} ${load}`) ?? []).map(read), 0.5);
  return loadNames.flatMap((load) =>
    [...subjects.keys()].map((name) => {
      const cpu_us = medianOf(name, load, (cost) => cost.cpu_us);
      const added_us = medianOf(name, load, ({ median_us }) => median_us) - percentile(direct_us.get(load) ?? [], 0.5);
      const inside =
        name === OWN ? ` (and ${medianOf(name, load, ({ inside_us }) => inside_us).toFixed(0)} the agent)` : '';
      const ratio = cpu_us / medianOf(BESIDE, load, (cost) => cost.cpu_us);
      const value = `${cpu_us.toFixed(0)} µs${inside} · ${added_us.toFixed(0)} µs · ${ratio.toFixed(2)} ×`;
      const what = `${load}: ${name}`;
      return name === OWN ? { what, value, bar: `≤ ${BAR} ×`, met: ratio <= BAR } : { what, value };
    }),
  );
}

async function measure({ port, host, pid, inside_pid }: Subject, name: LoadName): Promise<Cost> {
  const load = { socketPath: port, host, ...loads[name] };
  await runLoad({ ...load, duration_ms: 1_000 });
  const inside_ms = () => (inside_pid === undefined ? 0 : readCpu_ms(inside_pid));
  const before = { own_ms: readCpu_ms(pid), inside_ms: inside_ms() };
  const { requests, latencies_us } = await runLoad({ ...load, duration_ms: 3_000 });
  return {
    cpu_us: ((readCpu_ms(pid) - before.own_ms) * 1_000) / requests,
    inside_us: ((inside_ms() - before.inside_ms) * 1_000) / requests,
    median_us: percentile(latencies_us, 0.5),
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
