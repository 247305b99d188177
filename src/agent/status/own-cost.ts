// Measures what the agent itself costs: memory, CPU, event loop delay, descriptors.
import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { z } from 'zod';
import type { ownCost } from '../../contract/local/status.ts';
import type { LoopWatch } from '../../http/loop-watch.ts';

/** How often a timer measures the delay of the event loop, on a runtime that does not measure each turn by itself. */
const RESOLUTION_MS = 100;

export type OwnCost = z.infer<typeof ownCost>;

export interface OwnCostMeter extends Disposable {
  start(): void;
  read(): OwnCost;
}

/** A timer beside the turns that the runtime measures would be more than half of the wake-ups of an idle agent. */
export function createOwnCostMeter(loop: Pick<LoopWatch, 'longest' | 'turns'>, procRoot = '/proc'): OwnCostMeter {
  const { turns } = loop;
  const delay = turns ?? monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  /** What a sample holds beside the delay: the interval of the timer, where there is one. */
  const nominal_ms = turns === undefined ? RESOLUTION_MS : 0;
  const lag_ms = (percentile: number): number => {
    return Math.max(0, Math.round((delay.percentile(percentile) / 1e6 - nominal_ms) * 10) / 10);
  };
  return {
    start() {
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
      delay.disable();
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
