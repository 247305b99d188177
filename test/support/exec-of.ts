// Telling one program image of a process from the next: the kernel puts each at addresses of its own, and with the same pid and
// start time nothing else outside of the process shows that it was replaced.
import { readFileSync } from 'node:fs';

/** Where the stack of the process begins: drawn anew by each execve (field 28 of /proc/PID/stat). */
export function imageOf(pid: number | undefined): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[25] ?? '';
}

/** Clock ticks since the boot at which the process was made: an execve does not change it. */
export function startOf(pid: number | undefined): string {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
}
