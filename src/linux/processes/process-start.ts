// When a process was started, as the kernel counts it: together with the pid it names one process for good.
import { readFileSync } from 'node:fs';

/** Field 22 of /proc/<pid>/stat, in clock ticks since boot; undefined when there is no such process, or only its remains. */
export function readProcessStart(procRoot: string, pid: number): string | undefined {
  try {
    const stat = readFileSync(`${procRoot}/${pid}/stat`, 'latin1');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields[0] === 'Z' || fields[0] === 'X' ? undefined : fields[19];
  } catch {
    return undefined;
  }
}
