// How far another machine's clock is ahead of ours, from one question and its answer. Pure.

export interface ClockReading {
  /** The monotonic clock of this machine, at the question and at the answer. */
  readonly asked_mono_ms: number;
  readonly answered_mono_ms: number;
  /** The wall clock of this machine, at the answer. */
  readonly answered_wall_ms: number;
  /** The reading of the other clock at some time between the two. */
  readonly server_ms: number;
}

export interface ClockOffset {
  /** Positive when the clock of this machine is behind. */
  readonly offset_ms: number;
  /** The largest error of the offset: half of the time between question and answer. */
  readonly uncertainty_ms: number;
}

/**
 * The wall clock is read once, and the time between question and answer is measured by the monotonic one, so that a step in
 * between does not count.
 */
export function toClockOffset(reading: ClockReading): ClockOffset {
  const half_ms = Math.max(0, reading.answered_mono_ms - reading.asked_mono_ms) / 2;
  return {
    offset_ms: Math.round(reading.server_ms - (reading.answered_wall_ms - half_ms)),
    uncertainty_ms: Math.ceil(half_ms),
  };
}
