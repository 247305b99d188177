// What the agent itself costs: memory, CPU, event loop delay, descriptors.
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { z } from 'zod';
import type { ownCost } from '../../contract/local/status.ts';

/** How often the loop is asked how late it is, where the runtime cannot tell by itself what each turn of it took. */
const RESOLUTION_MS = 100;
/** A timer of its own would be more than half of what wakes an idle agent. */
const tellsByItself = Number(process.versions.node.split('.')[0]) >= 26;
/** What a sample holds besides the delay: the whole interval, where there is one. */
const NOMINAL_MS = tellsByItself ? 0 : RESOLUTION_MS;

export type OwnCost = z.infer<typeof ownCost>;

export interface OwnCostMeter extends Disposable {
  start(): void;
  read(): OwnCost;
}

export function createOwnCostMeter(procRoot = '/proc'): OwnCostMeter {
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  const lag_ms = (percentile: number): number => {
    const value = delay?.percentile(percentile) ?? 0;
    return Math.max(0, Math.round((value / 1e6 - NOMINAL_MS) * 10) / 10);
  };
  return {
    start() {
      delay = monitorEventLoopDelay({ samplePerIteration: tellsByItself, resolution: RESOLUTION_MS });
      delay.enable();
    },
    read() {
      const cpu = process.cpuUsage();
      return {
        rss_bytes: process.memoryUsage.rss(),
        heap_used_bytes: process.memoryUsage().heapUsed,
        cpu_user_ms: Math.round(cpu.user / 1_000),
        cpu_system_ms: Math.round(cpu.system / 1_000),
        loop_lag_p50_ms: lag_ms(50),
        loop_lag_p99_ms: lag_ms(99),
        open_fds: countDescriptors(procRoot),
      };
    },
    [Symbol.dispose]() {
      delay?.disable();
    },
  };
}

function countDescriptors(procRoot: string): number | null {
  try {
    return readdirSync(`${procRoot}/self/fd`).length;
  } catch {
    return null;
  }
}
