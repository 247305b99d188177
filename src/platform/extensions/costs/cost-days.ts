// Which days a provider is asked for. Pure. Days are of UTC, as the Unix milliseconds of their begin.

export const DAY_MS = 86_400_000;
/** How long a day is asked for after it is over: late items come within this time. */
const SETTLES_MS = 2 * DAY_MS;
/** The days before that a provider is asked for that was not asked for long, or never. */
const DAYS_BACK_MAX = 35;

export interface CostDays {
  readonly days: readonly number[];
  /** What is asked for next time begins here. */
  readonly unsettled_from: number;
}

/**
 * Whole days and one at a time, so that a provider which makes one item for what it is asked for makes the same one each time. The day that
 * is not over is among them: an item of it grows.
 */
export function toCostDays(unsettled_from: number, since: number, now_ms: number): CostDays {
  const today = toDay(now_ms);
  const unsettled = toDay(now_ms - SETTLES_MS);
  // What was settled by a clock that was set back is asked for again.
  const first = Math.max(toDay(since), Math.min(unsettled_from, unsettled), today - DAYS_BACK_MAX * DAY_MS);
  const days: number[] = [];
  for (let day = Math.min(first, today); day <= today; day += DAY_MS) days.push(day);
  return { days, unsettled_from: unsettled };
}

function toDay(time_ms: number): number {
  return Math.floor(time_ms / DAY_MS) * DAY_MS;
}
