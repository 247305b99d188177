// Which changes of the primary are published. A node that cannot reach its primary sends pairs of changes every second. A
// change is published once it has lasted, and soon after another change only once it has lasted longer.
import { type Primary, samePrimary } from './primary-status.ts';

/** A value that is gone within this time is half of a pair and does not count. */
const BLIP_MS = 100;
/** How long a value has to last when the one before held for CALM_MS. */
const SETTLE_MS = 500;
/** How long it has to last otherwise: longer than the second between two pairs. */
const SETTLE_AGAIN_MS = 3_000;
const CALM_MS = 10_000;

export interface PrimaryChange {
  readonly from: Primary;
  readonly to: Primary;
}

export interface PrimaryDebounce {
  /** Takes every raw value, with the monotonic time of its arrival. */
  observe(primary: Primary, now_ms: number): void;
  /** Milliseconds until a change may be published; `undefined` while the last raw value is the published one. */
  pending_ms(now_ms: number): number | undefined;
  /** The change that is due now, once. */
  takeChange(now_ms: number): PrimaryChange | undefined;
}

interface Held {
  readonly primary: Primary;
  readonly since_ms: number;
  /** How long the value has to last before it is published. */
  readonly settle_ms: number;
}

/** The first published value is "unknown". */
export function createPrimaryDebounce(): PrimaryDebounce {
  let announced: Primary = { type: 'unknown' };
  let now: Held = { primary: announced, since_ms: Number.NEGATIVE_INFINITY, settle_ms: SETTLE_MS };
  let before: Held = now;

  function pending_ms(now_ms: number): number | undefined {
    if (samePrimary(now.primary, announced)) return undefined;
    return Math.max(0, now.since_ms + now.settle_ms - now_ms);
  }

  return {
    observe(primary, now_ms) {
      if (samePrimary(primary, now.primary)) return;
      const wasBlip = now_ms - now.since_ms < BLIP_MS;
      if (wasBlip && samePrimary(primary, before.primary)) {
        now = before;
        return;
      }
      if (!wasBlip) before = now;
      const settle_ms = now_ms - before.since_ms >= CALM_MS ? SETTLE_MS : SETTLE_AGAIN_MS;
      now = { primary, since_ms: now_ms, settle_ms };
    },
    pending_ms,
    takeChange(now_ms) {
      if (pending_ms(now_ms) !== 0) return undefined;
      const change = { from: announced, to: now.primary };
      announced = now.primary;
      return change;
    },
  };
}
