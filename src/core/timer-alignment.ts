// A common beat for timers that need no exact moment. Timers that keep to it wake the process together, and most of the cost of
// an idle process is its waking up.

/** How long until a multiple of `period_ms` on the clock: between a half and one and a half periods, one on the average. */
export function untilAligned_ms(now_ms: number, period_ms: number): number {
  const left_ms = period_ms - (now_ms % period_ms);
  return Math.ceil(left_ms < period_ms / 2 ? left_ms + period_ms : left_ms);
}
