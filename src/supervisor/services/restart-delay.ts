// How long a service waits after a crash. Pure.
export const RESTART_MIN_MS = 250;
export const RESTART_MAX_MS = 30_000;

/** Doubles with each crash in a row; `crashes` is 1 after the first. */
export function toRestartDelay(crashes: number): number {
  return Math.min(RESTART_MAX_MS, RESTART_MIN_MS * 2 ** Math.min(30, Math.max(0, crashes - 1)));
}
