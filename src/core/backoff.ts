// How long to wait before the next try: full jitter between 250 ms and a ceiling that doubles up to 30 s. The floor keeps any
// number of unlucky draws from becoming a hot loop.

export const BACKOFF_MIN_MS = 250;
export const BACKOFF_MAX_MS = 30_000;
/** The longest wait that the answer of another server may impose. */
export const RETRY_AFTER_MAX_MS = 300_000;

export interface BackoffOptions {
  readonly min_ms?: number;
  readonly max_ms?: number;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
}

export interface Backoff {
  /**
   * Counts one more failure and gives the delay before the next try, in whole milliseconds. It is at least `retryAfter_ms` if
   * given, which is clamped to `RETRY_AFTER_MAX_MS` because it comes from outside.
   */
  next(retryAfter_ms?: number): number;
  /** The peer has proved healthy, or the machine was resumed: start over. */
  reset(): void;
  readonly failures: number;
}

/** A delay is drawn from [min, ceiling), the ceiling being 2·min at first, doubling with each failure, at most max. */
export function createBackoff(options: BackoffOptions): Backoff {
  const min = options.min_ms ?? BACKOFF_MIN_MS;
  const max = options.max_ms ?? BACKOFF_MAX_MS;
  let failures = 0;
  return {
    next(retryAfter_ms = 0) {
      failures += 1;
      const ceiling = Math.max(min, Math.min(max, min * 2 ** Math.min(failures, 30)));
      const delay = Math.floor(min + options.random() * (ceiling - min));
      return retryAfter_ms > delay ? Math.ceil(Math.min(retryAfter_ms, RETRY_AFTER_MAX_MS)) : delay;
    },
    reset() {
      failures = 0;
    },
    get failures() {
      return failures;
    },
  };
}
