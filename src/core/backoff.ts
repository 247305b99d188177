// How long to wait before the next try: full jitter between nothing and a ceiling that doubles from 250 ms to 30 s
// (design.md, section 4).

export const BACKOFF_MIN_MS = 250;
export const BACKOFF_MAX_MS = 30_000;

export interface BackoffOptions {
  readonly min_ms?: number;
  readonly max_ms?: number;
  /** A number in [0, 1), from urandom. */
  readonly random: () => number;
}

export interface Backoff {
  /** The delay before the next try in milliseconds, and one more failure counted. At least `retryAfter_ms` if given. */
  next(retryAfter_ms?: number): number;
  /** The peer has proved healthy, or the machine was resumed: start over. */
  reset(): void;
  readonly failures: number;
}

/** Full jitter: a delay is drawn from [0, ceiling), the ceiling being min·2ⁿ and at most max. */
export function createBackoff(options: BackoffOptions): Backoff {
  const min = options.min_ms ?? BACKOFF_MIN_MS;
  const max = options.max_ms ?? BACKOFF_MAX_MS;
  let failures = 0;
  return {
    next(retryAfter_ms = 0) {
      const ceiling = Math.min(max, min * 2 ** Math.min(failures, 30));
      failures += 1;
      return Math.max(Math.floor(options.random() * ceiling), Math.min(retryAfter_ms, max));
    },
    reset() {
      failures = 0;
    },
    get failures() {
      return failures;
    },
  };
}
