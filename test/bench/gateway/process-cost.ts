// What a process costs, from /proc: CPU in milliseconds, and memory that is its own.
import { readFileSync } from 'node:fs';

/** USER_HZ, which Linux fixes at 100 for every machine that this runs on. */
const TICK_MS = 10;

/** User and system time of all its threads. */
export function readCpu_ms(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

export function readResident_bytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1024;
}
