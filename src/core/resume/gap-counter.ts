// A figure of the kernel that only rises, read now and then. A rise over a gap is divided: one part belongs to the gap, the
// other to the time between the last reading and the begin of the gap, in which the figure went on at its earlier rate.

/** Two readings closer than this say nothing about a rate. */
const RATE_MS = 200;

export interface Rise {
  /** The rise within the gap. */
  readonly within: number;
  /** The rise before the gap, estimated by the earlier rate. */
  readonly before: number;
  /** The earlier rate. */
  readonly perMs: number;
  /** The rise since the last reading, and how long ago that was: no part of it is estimated. */
  readonly whole: number;
  readonly elapsed_ms: number;
}

export interface GapCounter {
  /** Records a reading of ordinary time. */
  note(value: number | undefined, mono_ms: number): void;
  /** Records a reading after a gap, and keeps the rate from before it. Undefined while one of the two readings is missing. */
  rise(value: number | undefined, mono_ms: number, gapBegan_ms: number): Rise | undefined;
}

export function createGapCounter(): GapCounter {
  let last: { readonly value: number; readonly mono_ms: number } | undefined;
  let perMs = 0;

  function record(value: number | undefined, mono_ms: number): void {
    last = value === undefined ? undefined : { value, mono_ms };
  }

  return {
    note(value, mono_ms) {
      if (last !== undefined && value !== undefined && mono_ms - last.mono_ms >= RATE_MS) {
        perMs = Math.max(0, value - last.value) / (mono_ms - last.mono_ms);
      }
      record(value, mono_ms);
    },
    rise(value, mono_ms, gapBegan_ms) {
      const from = last;
      record(value, mono_ms);
      if (from === undefined || value === undefined) return undefined;
      const whole = Math.max(0, value - from.value);
      const before = Math.min(whole, perMs * Math.max(0, gapBegan_ms - from.mono_ms));
      return { within: whole - before, before, perMs, whole, elapsed_ms: mono_ms - from.mono_ms };
    },
  };
}
