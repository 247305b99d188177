// What a process costs, as the kernel counts it.
import { readdirSync, readFileSync } from 'node:fs';
import { readIfThere } from '../support/read-if-there.ts';

const KILOBYTE = 1_024;

/** CPU time of all its threads in milliseconds, to the microsecond. */
export function readCpu_ms(pid: number): number {
  let total_ns = 0;
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    // One that has just ended counts no more.
    total_ns += Number((readIfThere(`/proc/${pid}/task/${thread}/schedstat`, 'latin1') ?? '0').split(' ')[0]);
  }
  return total_ns / 1e6;
}

export interface Memory {
  /** What is resident; of that, what belongs to no file; and what no other process shares. */
  readonly rss_bytes: number;
  readonly anonymous_bytes: number;
  readonly private_bytes: number;
}

export function readMemory(pid: number): Memory {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const field = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * KILOBYTE;
  return {
    rss_bytes: field('Rss'),
    anonymous_bytes: field('Anonymous'),
    private_bytes: field('Private_Clean') + field('Private_Dirty'),
  };
}

export function toMegabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(1)} MB`;
}
