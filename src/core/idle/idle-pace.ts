// How often the agent looks for work of the machine: often enough for the configured idle time, rarely enough to cost nothing.

export interface IdlePace {
  /** The time between two samples of what the agent knows by itself. */
  readonly sample_ms: number;
  /** The time between two looks at the connections, each of which starts a process. */
  readonly look_ms: number;
}

/** The samples only keep `last_activity_at` up to date when idle suspend is off. */
export function toIdlePace(after_ms: number | undefined): IdlePace {
  if (after_ms === undefined) return { sample_ms: 10_000, look_ms: Number.POSITIVE_INFINITY };
  return { sample_ms: clamp(after_ms / 20, 250, 5_000), look_ms: clamp(after_ms / 5, 500, 15_000) };
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
