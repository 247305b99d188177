// Converts a hold to the task that the socket shows.
import type { Task } from '../../contract/local/tasks.ts';
import { toDateTime } from '../../core/clock.ts';
import { type Hold, type HoldTime, WALL_CAP_MS } from '../../core/holds/hold-book.ts';

/** `expire` is the time left in seconds; for the hold of a connection, what is left of its cap in wall time. */
export function toTask(hold: Hold, now: HoldTime): Task {
  const left_ms = Math.min(hold.deadline_run_ms - now.run_ms, hold.created_wall_ms + WALL_CAP_MS - now.wall_ms);
  return {
    name: hold.name,
    mode: hold.mode,
    ...(hold.reason === undefined ? {} : { reason: hold.reason }),
    ...(hold.process === undefined ? {} : { pid: hold.process.pid }),
    connection: hold.connection,
    created_at: toDateTime(hold.created_wall_ms),
    expire: Math.max(0, Math.round(left_ms / 1_000)),
    expires_at: toDateTime(now.wall_ms + Math.max(0, left_ms)),
  };
}
