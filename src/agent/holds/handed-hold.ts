// A hold on its way from one image of the process to the next: run time begins anew there, so what travels is the time left.
import { type Hold, type HoldTime, RESUME_GRACE_MS } from '../../core/hold-book.ts';
import type { HandedHold } from '../handover/parcel.ts';

export function toHandedHold(hold: Hold, now: HoldTime): HandedHold {
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

/** A connection ended with the image that had it: its holder has the grace of a resume to come back. */
export function toHold(handed: HandedHold, now: HoldTime): Hold {
  const { left_ms, reason, process, ...fields } = handed;
  return {
    ...fields,
    reason,
    process,
    connection: left_ms === undefined,
    deadline_run_ms: now.run_ms + (left_ms ?? RESUME_GRACE_MS),
  };
}
