// Whether the hardware clock ran on while the VM stood still: it is the only clock of the machine that a pause with a frozen
// guest clock does not stop. Setting the system clock, or writing it into the hardware clock, is not mistaken for that.

/** The hardware clock counts seconds, so two readings can be a second off each other. */
export const RTC_STEP_MS = 2_500;
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
  /** `away_ms` without us; `wall_skew_ms` of it is missing from the wall clock still. */
  | {
      readonly type: 'away';
      readonly away_ms: number;
      readonly wall_skew_ms: number;
      readonly certainty: 'likely' | 'possible';
    };

/** The zone of a hardware clock that keeps local time, in whole quarters of an hour. */
export function toRtcZone_ms(sample: RtcSample): number {
  return Math.round((sample.rtc_ms - sample.wall_ms) / ZONE_MS) * ZONE_MS;
}

/**
 * Compares two readings. Both clocks ahead of run time by the same amount: away, and the wall clock was put right meanwhile.
 * Only the hardware clock ahead: away, unless it now shows the wall time, for then somebody wrote it.
 */
export function judgeRtc(before: RtcSample, after: RtcSample, zone_ms: number): RtcVerdict {
  const ran_ms = after.mono_ms - before.mono_ms;
  const ahead_ms = after.rtc_ms - before.rtc_ms - ran_ms;
  if (ahead_ms <= RTC_STEP_MS) return { type: 'nothing' };
  const wallAhead_ms = after.wall_ms - before.wall_ms - ran_ms;
  if (Math.abs(wallAhead_ms - ahead_ms) <= SAME_MS) {
    return { type: 'away', away_ms: ahead_ms, wall_skew_ms: 0, certainty: 'possible' };
  }
  if (Math.abs(after.rtc_ms - after.wall_ms - zone_ms) <= WRITTEN_MS) return { type: 'nothing' };
  return { type: 'away', away_ms: ahead_ms, wall_skew_ms: ahead_ms - wallAhead_ms, certainty: 'likely' };
}
