// A common beat for timers that need no exact moment: those that keep to it wake the process together, and what an idle process
// costs is mostly its waking up.

/** How long until a multiple of `period_ms` on the clock: between a half and one and a half periods, one on the average. */
export function untilBeat_ms(now_ms: number, period_ms: number): number {
  const left_ms = period_ms - (now_ms % period_ms);
  return Math.ceil(left_ms < period_ms / 2 ? left_ms + period_ms : left_ms);
}
