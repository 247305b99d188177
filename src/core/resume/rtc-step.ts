// Whether the hardware clock ran on while the VM stood still: it is the only clock of the machine that a pause with a frozen
// guest clock does not stop. Setting the system clock, or writing it into the hardware clock, does not count as a pause.

/** The hardware clock counts seconds, so two readings can be a second off each other. */
export const RTC_STEP_MS = 2_500;
/** What the hardware clock gains in a pause of this length is always more than `RTC_STEP_MS`, however its seconds fell. */
export const RTC_SURE_MS = RTC_STEP_MS + 1_000;
const SAME_MS = 1_500;
const WRITTEN_MS = 2_000;
const ZONE_MS = 15 * 60_000;

export interface RtcSample {
  readonly mono_ms: number;
  readonly wall_ms: number;
  readonly rtc_ms: number;
}

export type RtcVerdict =
  | { readonly type: 'nothing' }
  /** The machine was away for `away_ms`; `wall_skew_ms` of it is still missing from the wall clock. */
  | {
      readonly type: 'away';
      readonly away_ms: number;
      readonly wall_skew_ms: number;
      readonly certainty: 'likely' | 'possible';
      /** Run time of the earlier reading. */
      readonly from_mono_ms: number;
    };

/** The zone of a hardware clock that keeps local time, in whole quarters of an hour. */
export function toRtcZone_ms(sample: RtcSample): number {
  return Math.round((sample.rtc_ms - sample.wall_ms) / ZONE_MS) * ZONE_MS;
}

/**
 * Compares two readings. Both clocks ahead of run time by the same amount: the machine was away, and the wall clock has been
 * corrected. Only the hardware clock ahead: the machine was away, unless the hardware clock now shows the wall time, because
 * then it was set.
 */
export function judgeRtc(before: RtcSample, after: RtcSample, zone_ms: number): RtcVerdict {
  const ran_ms = after.mono_ms - before.mono_ms;
  const ahead_ms = after.rtc_ms - before.rtc_ms - ran_ms;
  if (ahead_ms <= RTC_STEP_MS) return { type: 'nothing' };
  const from_mono_ms = before.mono_ms;
  const wallAhead_ms = after.wall_ms - before.wall_ms - ran_ms;
  if (Math.abs(wallAhead_ms - ahead_ms) <= SAME_MS) {
    return { type: 'away', away_ms: ahead_ms, wall_skew_ms: 0, certainty: 'possible', from_mono_ms };
  }
  if (Math.abs(after.rtc_ms - after.wall_ms - zone_ms) <= WRITTEN_MS) return { type: 'nothing' };
  return { type: 'away', away_ms: ahead_ms, wall_skew_ms: ahead_ms - wallAhead_ms, certainty: 'likely', from_mono_ms };
}
