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

/** ISO 8601 in UTC with milliseconds, the form of every time on the local socket. */
export function toDateTime(wall_ms: number): string {
  return new Date(wall_ms).toISOString();
}
