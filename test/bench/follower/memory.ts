// Whether the agent's memory stays flat while readers read for minutes: what is resident, and what is left after a collection.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Memory, readMemory } from '../process-cost.ts';
import { reading, ready, received, sent } from './messages.ts';
import { ask, end, hear, openAgent, start } from './processes.ts';

/** The history is full by then, and the runtime has taken what it takes. */
const SETTLE_MS = 30_000;
const SAMPLES = 6;

export interface MemorySample {
  readonly memory: Memory;
  /** What the main thread has after a collection: objects, and buffers beside them. */
  readonly heap_bytes: number;
  readonly buffers_bytes: number;
  /** All files of the cache. */
  readonly disk_bytes: number;
}

export interface MemoryRun {
  readonly samples: readonly MemorySample[];
  readonly transactions: number;
  /** Readers that are still there; the first of them got every line. */
  readonly whole: number;
}

/** `rate` transactions a second to each of `readers`, for `run_ms` after it has settled. */
export async function measureMemory(readers: number, rate: number, run_ms: number): Promise<MemoryRun> {
  const node = start('node.ts', String(rate));
  const { url = '' } = await hear(node, ready);
  await using opened = await openAgent(url);
  const { agent, dir, path } = opened;
  const listening = start('readers.ts', path, String(readers));
  await hear(listening, ready);
  const sample = async (): Promise<MemorySample> => {
    const { heap_bytes, buffers_bytes } = await ask(agent, reading, 'collect');
    return { memory: readMemory(agent.pid ?? 0), heap_bytes, buffers_bytes, disk_bytes: sizeOf(dir) };
  };
  try {
    node.send('start');
    await sleep(SETTLE_MS);
    const samples = [await sample()];
    for (let taken = 0; taken < SAMPLES; taken += 1) {
      await sleep(run_ms / SAMPLES);
      samples.push(await sample());
    }
    const { transactions } = await ask(node, sent);
    await sleep(1_000);
    const { lines } = await ask(listening, received);
    const { readers: kept, gaps } = await ask(agent, reading);
    return { samples, transactions, whole: lines > transactions && gaps === 0 ? kept : 0 };
  } finally {
    for (const child of [node, listening]) await end(child);
  }
}

function sizeOf(dir: string): number {
  return readdirSync(dir).reduce((sum, name) => sum + statSync(join(dir, name)).size, 0);
}
