// One way to the provider, with the processes that a call goes through, and what it costs at one and at many connections.
import { type Load, runLoad } from '../gateway/load.ts';
import { readCpu_ms } from '../process-cost.ts';

export interface Route {
  readonly name: string;
  /** The path of a Unix socket, or a port. */
  readonly place: string | number;
  readonly target: string;
  readonly headers?: readonly string[];
  /** See `LoadOptions`. */
  readonly turns?: readonly (readonly string[])[];
  /** The ids of processes by their names. */
  readonly processes: Readonly<Record<string, number>>;
}

export interface RouteCost {
  readonly perSecond: number;
  readonly median_us: number;
  readonly p99_us: number;
  /** CPU of each process for one request. */
  readonly cpu_us: Readonly<Record<string, number>>;
}

const WARM_UP_MS = 1_000;
const MEASURED_MS = 3_000;

export async function measureRoute(route: Route, connections: number): Promise<RouteCost> {
  const { target, headers = [], turns = [[]] } = route;
  const load = { socketPath: route.place, target, headers, turns, connections };
  await runLoad({ ...load, duration_ms: WARM_UP_MS });
  const before = readAll(route.processes);
  const done = await runLoad({ ...load, duration_ms: MEASURED_MS });
  const after = readAll(route.processes);
  const cpu_us = Object.fromEntries(
    Object.keys(route.processes).map((name) => [
      name,
      (((after[name] ?? 0) - (before[name] ?? 0)) * 1_000) / done.requests,
    ]),
  );
  const perSecond = (done.requests * 1_000) / done.took_ms;
  return { perSecond, median_us: at(done, 0.5), p99_us: at(done, 0.99), cpu_us };
}

function readAll(processes: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(processes).map(([name, pid]) => [name, readCpu_ms(pid)]));
}

function at({ latencies_us }: Load, share: number): number {
  return latencies_us[Math.floor(latencies_us.length * share)] ?? Number.NaN;
}
