// Which changes of the primary are worth telling. A node that cannot reach its primary reports pairs of changes every second
// (wire-facts.md, section 1); what is told is what lasted, and soon after a change only what lasted longer.
import { type Primary, samePrimary } from './primary-status.ts';

/** A value that is gone again within this is half of a pair and does not count. */
const BLIP_MS = 100;
/** How long a value has to last after one that held for CALM_MS. */
const SETTLE_MS = 500;
/** How long after one that did not: longer than the second between two pairs. */
const SETTLE_AGAIN_MS = 3_000;
const CALM_MS = 10_000;

export interface PrimaryChange {
  readonly from: Primary;
  readonly to: Primary;
}

export interface PrimaryDebounce {
  /** Takes every raw value, with the monotonic time at which it came. */
  observe(primary: Primary, now_ms: number): void;
  /** Milliseconds until a change may be told; `undefined` while the last raw value is the one that was told. */
  pending_ms(now_ms: number): number | undefined;
  /** The change that is due now, once. */
  take(now_ms: number): PrimaryChange | undefined;
}

interface Held {
  readonly primary: Primary;
  readonly since_ms: number;
  /** How long it has to last to be told. */
  readonly settle_ms: number;
}

/** Starts with "unknown" told. */
export function createPrimaryDebounce(): PrimaryDebounce {
  let told: Primary = { type: 'unknown' };
  let now: Held = { primary: told, since_ms: Number.NEGATIVE_INFINITY, settle_ms: SETTLE_MS };
  let before: Held = now;

  function pending_ms(now_ms: number): number | undefined {
    if (samePrimary(now.primary, told)) return undefined;
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
    take(now_ms) {
      if (pending_ms(now_ms) !== 0) return undefined;
      const change = { from: told, to: now.primary };
      told = now.primary;
      return change;
    },
  };
}
