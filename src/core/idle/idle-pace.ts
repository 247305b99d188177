// How often the machine is looked at for work: often enough for the time it is given, rarely enough to cost nothing.

export interface IdlePace {
  /** From one sample of what the agent knows by itself to the next. */
  readonly sample_ms: number;
  /** From one look at the connections to the next: it starts a process. */
  readonly look_ms: number;
}

/** With idle suspend off the samples only keep `last_activity_at` true. */
export function toIdlePace(after_ms: number | undefined): IdlePace {
  if (after_ms === undefined) return { sample_ms: 10_000, look_ms: Number.POSITIVE_INFINITY };
  return { sample_ms: clamp(after_ms / 20, 250, 5_000), look_ms: clamp(after_ms / 5, 500, 15_000) };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
