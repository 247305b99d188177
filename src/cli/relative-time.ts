// Times as people say them, seen from now. Pure.
import { toSpan } from './table.ts';

const JUST_MS = 1_000;

/** `12 s ago`, `3 h ago`, `in 89 d`: the largest unit only. `now` for less than a second. */
export function toAgo(time_ms: number, now_ms: number): string {
  if (Number.isNaN(time_ms)) return '-';
  const apart_ms = Math.abs(now_ms - time_ms);
  if (apart_ms < JUST_MS) return 'now';
  const [count, unit] = toSpan(apart_ms).split(' ');
  return now_ms >= time_ms ? `${count} ${unit} ago` : `in ${count} ${unit}`;
}
