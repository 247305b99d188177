// How much memory processes have of the machine that they run on.
import { readFileSync } from 'node:fs';

const MB = 1_024 * 1_024;

/** Memory that several of them share counts for each. One that has ended counts as nothing. `procRoot` is /proc, or a copy of it in a test. */
export function sumResidentMemory_mb(pids: readonly number[], procRoot = '/proc'): number {
  return Math.round(pids.reduce((sum, pid) => sum + readResident_bytes(pid, procRoot), 0) / MB);
}

function readResident_bytes(pid: number, procRoot: string): number {
  try {
    return parseResident_bytes(readFileSync(`${procRoot}/${pid}/status`, 'utf8'));
  } catch {
    return 0;
  }
}

/** The line `VmRSS:     1234 kB`, which a zombie does not have. */
export function parseResident_bytes(status: string): number {
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1_024;
}
