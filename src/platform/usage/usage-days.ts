// Times as the days in UTC that they lie in. Pure.

export const DAY_MS = 86_400_000;

export interface DaySpan {
  /** A day such as `2026-01-31`. */
  readonly day: string;
  readonly ms: number;
}

/** The parts of a time by day, without those of no length. `since` and `until` are Unix milliseconds. */
export function toDaySpans(since: number, until: number): readonly DaySpan[] {
  const spans: DaySpan[] = [];
  for (let from = since; from < until; ) {
    const to = Math.min(until, (Math.floor(from / DAY_MS) + 1) * DAY_MS);
    spans.push({ day: new Date(from).toISOString().slice(0, 10), ms: to - from });
    from = to;
  }
  return spans;
}
