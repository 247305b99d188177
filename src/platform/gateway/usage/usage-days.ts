// The range of days of a usage query. Pure.
import { toDateTime } from '../../../core/clock.ts';

/** Days in UTC, both included. */
export interface UsageDays {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

const DEFAULT_DAYS_MS = 29 * 86_400_000;

/** Fills what is absent: the thirty days up to now. */
export function toUsageDays({ since, until }: UsageDays, now_ms: number): Record<keyof UsageDays, string> {
  return { since: since ?? toUsageDay(now_ms - DEFAULT_DAYS_MS), until: until ?? toUsageDay(now_ms) };
}

export function toUsageDay(time_ms: number): string {
  return toDateTime(time_ms).slice(0, 10);
}
