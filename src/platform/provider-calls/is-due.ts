// Whether the time has come at which a provider is asked again, as a condition of SQL. Pure.

/** Longer than a claim, than the longest `Retry-After`, and than what the clocks of two hosts are apart. */
const AHEAD_MAX_MS = 3_900_000;

/**
 * `column` holds Unix milliseconds, `now` is such an expression too. Times that lie further ahead than any wait were written before the
 * clock was set back. `ahead_ms`: where waits may be longer.
 */
export function isDue(column: string, now: string, ahead_ms = AHEAD_MAX_MS): string {
  return `(${column} <= ${now} OR ${column} > ${now} + ${ahead_ms})`;
}
