// Measures what the agent itself costs: memory, CPU, event loop delay, descriptors.
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { z } from 'zod';
import type { ownCost } from '../../contract/local/status.ts';
import type { LoopWatch } from '../../http/loop-watch.ts';

/** How often a timer measures the delay of the event loop, on a runtime that does not measure each turn by itself. */
const RESOLUTION_MS = 100;
/** True when the runtime measures each turn. A timer for it would be more than half of the wake-ups of an idle agent. */
const hasNativeDelay = Number(process.versions.node.split('.')[0]) >= 26;
/** What a sample holds beside the delay: the interval of the timer, where there is one. */
const NOMINAL_MS = hasNativeDelay ? 0 : RESOLUTION_MS;

export type OwnCost = z.infer<typeof ownCost>;

export interface OwnCostMeter extends Disposable {
  start(): void;
  read(): OwnCost;
}

export function createOwnCostMeter(loop: Pick<LoopWatch, 'longest'>, procRoot = '/proc'): OwnCostMeter {
  let delay: ReturnType<typeof monitorEventLoopDelay> | undefined;
  const lag_ms = (percentile: number): number => {
    const value = delay?.percentile(percentile) ?? 0;
    return Math.max(0, Math.round((value / 1e6 - NOMINAL_MS) * 10) / 10);
  };
  return {
    start() {
      delay = monitorEventLoopDelay({ samplePerIteration: hasNativeDelay, resolution: RESOLUTION_MS });
      delay.enable();
    },
    read() {
      const cpu = process.cpuUsage();
      const { longest } = loop;
      return {
        rss_bytes: process.memoryUsage.rss(),
        heap_used_bytes: process.memoryUsage().heapUsed,
        cpu_user_ms: Math.round(cpu.user / 1_000),
        cpu_system_ms: Math.round(cpu.system / 1_000),
        loop_lag_p50_ms: lag_ms(50),
        loop_lag_p99_ms: lag_ms(99),
        longest_hold_ms: longest.ms,
        longest_hold_operation: longest.operation,
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
