// The clocks of the platforms that the agent calls, as far as their `Date` headers show them. One that runs ahead of run time
// by more than its resolution and drift explain shows that time has passed without this machine.

/** `Date` counts seconds and arrives late, never early. */
export const DATE_STEP_MS = 3_000;
/** A clock that is not synchronized drifts by up to 200 millionths. */
const DRIFT = 200e-6;
/** This many answers below the known reading mean that the platform has set its clock back. */
const LOW_ANSWERS = 3;
const ORIGINS = 16;

export type DateVerdict =
  | { readonly type: 'nothing' }
  /** `from_mono_ms` is the run time of the last answer of this origin: this answer measures the resumes since then. */
  | { readonly type: 'away'; readonly away_ms: number; readonly from_mono_ms: number };

interface OriginClock {
  offset_ms: number;
  /** The offset is at most this: an answer that took long may have been on its way, or waiting for this process, all that time. */
  most_ms: number;
  noted_mono_ms: number;
  low: number;
}

export interface UpstreamDates {
  /** `took_ms`: how long before `mono_ms` the question was asked. */
  note(origin: string, date_ms: number, mono_ms: number, took_ms?: number): DateVerdict;
}

export function createUpstreamDates(): UpstreamDates {
  const clocks = new Map<string, OriginClock>();
  return {
    note(origin, date_ms, mono_ms, took_ms = 0) {
      const offset_ms = date_ms - mono_ms;
      const most_ms = offset_ms + took_ms;
      const clock = clocks.get(origin);
      if (clock === undefined) {
        const oldest = clocks.keys().next();
        if (clocks.size >= ORIGINS && !oldest.done) clocks.delete(oldest.value);
        clocks.set(origin, { offset_ms, most_ms, noted_mono_ms: mono_ms, low: 0 });
        return { type: 'nothing' };
      }
      const away_ms = offset_ms - clock.offset_ms;
      const allowed_ms = DATE_STEP_MS + (mono_ms - clock.noted_mono_ms) * DRIFT;
      const proven_ms = offset_ms - clock.most_ms;
      const from_mono_ms = clock.noted_mono_ms;
      clock.noted_mono_ms = mono_ms;
      clock.low = away_ms < -DATE_STEP_MS ? clock.low + 1 : 0;
      if (away_ms > 0 || clock.low >= LOW_ANSWERS) {
        clock.offset_ms = offset_ms;
        clock.most_ms = most_ms;
        clock.low = 0;
      } else clock.most_ms = Math.min(clock.most_ms, Math.max(clock.offset_ms, most_ms));
      if (proven_ms <= allowed_ms) return { type: 'nothing' };
      return { type: 'away', away_ms, from_mono_ms };
    },
  };
}
