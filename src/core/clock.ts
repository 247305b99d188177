// Time as an argument: the wall clock for stamps, the monotonic one for durations. Both in milliseconds.

export interface Clock {
  /** Unix time. Jumps when somebody sets the clock, and after a resume. */
  wall_ms(): number;
  /** Run time of the machine; never goes back, stands still while the machine is suspended. */
  mono_ms(): number;
}

export const systemClock: Clock = {
  wall_ms: () => Date.now(),
  mono_ms: () => performance.now(),
};

const FIRST_MS = 0;
const LAST_MS = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/**
 * ISO 8601 in UTC with milliseconds, the form of every time on the local socket. A time before 1970 or after the year 9999,
 * such as one out of a damaged row, becomes the nearest time within. Throws for NaN.
 */
export function toDateTime(wall_ms: number): string {
  return new Date(Math.min(Math.max(wall_ms, FIRST_MS), LAST_MS)).toISOString();
}
