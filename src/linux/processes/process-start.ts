// When a process was started, as the kernel counts it: together with the pid it names one process for good.
import { isOver, readProcess } from './process-table.ts';

/** The start in clock ticks since boot, as text; undefined when there is no such process, or only its remains. */
export function readProcessStart(procRoot: string, pid: number): string | undefined {
  const stat = readProcess(pid, procRoot);
  return stat === undefined || isOver(stat) ? undefined : String(stat.start_ticks);
}
