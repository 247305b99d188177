// A hold as one process passes it to the next. Run time starts at 0 there, so the time left is passed on.
import { type Hold, type HoldTime, RESUME_GRACE_MS } from '../../core/holds/hold-book.ts';
import type { RestartHold } from '../restart/restart-state.ts';

export function toRestartHold(hold: Hold, now: HoldTime): RestartHold {
  const { name, mode, reason, process, created_wall_ms } = hold;
  return {
    name,
    mode,
    ...(reason === undefined ? {} : { reason }),
    ...(process === undefined ? {} : { process: { ...process } }),
    created_wall_ms,
    ...(hold.connection ? {} : { left_ms: hold.deadline_run_ms - now.run_ms }),
  };
}

/** A connection ended with the process that had it; its holder has the grace time of a resume to come back. */
export function toHold(handed: RestartHold, now: HoldTime): Hold {
  const { left_ms, reason, process, ...fields } = handed;
  return {
    ...fields,
    reason,
    process,
    connection: left_ms === undefined,
    deadline_run_ms: now.run_ms + (left_ms ?? RESUME_GRACE_MS),
  };
}
