// How long things of a service take, in milliseconds.
export interface ServiceTiming {
  /** A service that has lived for this long runs. */
  readonly proved_ms: number;
  /** How long a service waits for what it needs. */
  readonly needs_ms: number;
  /** How long a service may take to end before it is killed. */
  readonly stop_ms: number;
  /** The next crash is treated as the first one when the service was up for this long. */
  readonly steady_ms: number;
  /** How long a signal waits for the process of a service that is starting. */
  readonly signal_ms: number;
  /** How long all services together may take to end with the supervisor. */
  readonly close_ms: number;
}

export const serviceTiming: ServiceTiming = {
  proved_ms: 1_000,
  needs_ms: 60_000,
  stop_ms: 10_000,
  steady_ms: 60_000,
  signal_ms: 5_000,
  close_ms: 10_000,
};
