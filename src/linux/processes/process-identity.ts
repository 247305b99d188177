// One process, named for good, also after its pid is used again.
import { isOver, readProcess } from './process-table.ts';

/** A pid is reused; together with the start time it names one process. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Clock ticks since the boot. */
  readonly start_ticks: number;
}

/** A zombie counts as ended. */
export function isAlive({ pid, start_ticks }: ProcessIdentity): boolean {
  const found = readProcess(pid);
  return found !== undefined && found.start_ticks === start_ticks && !isOver(found);
}

/** Undefined when there is no such process. */
export function readIdentity(pid: number): ProcessIdentity | undefined {
  const found = readProcess(pid);
  return found === undefined ? undefined : { pid, start_ticks: found.start_ticks };
}
