// How much memory processes have of the machine that they run on.
import { readFileSync } from 'node:fs';
import { inSlices } from './in-slices.ts';

const MB = 1_024 * 1_024;

/** Memory that several of them share counts for each. One that has ended counts as nothing. Reads in slices. */
export async function sumResidentMemory_mb(pids: Iterable<number>): Promise<number> {
  let sum_bytes = 0;
  await inSlices(pids, (pid) => {
    sum_bytes += readResident_bytes(pid);
  });
  return Math.round(sum_bytes / MB);
}

function readResident_bytes(pid: number): number {
  try {
    return parseResident_bytes(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return 0;
  }
}

/** The line `VmRSS:     1234 kB`, which a zombie does not have. */
export function parseResident_bytes(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
}
