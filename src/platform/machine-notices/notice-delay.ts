// When a notice that could not be delivered is sent again. Pure.

const FIRST_MS = 1_000;
const LONGEST_MS = 600_000;
const RETRY_AFTER_MAX_MS = 3_600_000;

/** Doubles with each attempt, from one second to ten minutes, less up to half by chance. `random` is in [0, 1). */
export function toDelay(attempts: number, random: number): number {
  const ceiling = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(attempts, 30));
  return Math.ceil(ceiling * (1 - random / 2));
}

/** What the provider asks for, an hour at most. */
export function toPause(retryAfter_ms: number | undefined): number | undefined {
  return retryAfter_ms === undefined ? undefined : Math.min(RETRY_AFTER_MAX_MS, Math.max(0, retryAfter_ms));
}
