// How far another machine's clock is ahead of ours, from one question and its answer. Pure.

export interface ClockReading {
  /** Of our monotonic clock, at the question and at the answer. */
  readonly asked_mono_ms: number;
  readonly answered_mono_ms: number;
  /** Of our wall clock, at the answer. */
  readonly answered_wall_ms: number;
  /** What the other clock showed somewhere between the two. */
  readonly server_ms: number;
}

export interface ClockOffset {
  /** Positive when our clock is behind. */
  readonly offset_ms: number;
  /** The offset is right to within this: half of what the question took. */
  readonly uncertainty_ms: number;
}

/** The wall clock is read once and the way is measured by the monotonic one, so that a step in between does not count. */
export function toClockOffset(reading: ClockReading): ClockOffset {
  const half_ms = Math.max(0, reading.answered_mono_ms - reading.asked_mono_ms) / 2;
  return {
    offset_ms: Math.round(reading.server_ms - (reading.answered_wall_ms - half_ms)),
    uncertainty_ms: Math.ceil(half_ms),
  };
}
