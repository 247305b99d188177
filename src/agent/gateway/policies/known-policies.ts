// The policies that are known here, with the time of their fetch. They are judged by only while they are young enough.
import type { Clock } from '../../../core/clock.ts';
import { type PolicySnapshot, toSnapshot } from './policy-snapshot.ts';
import type { StoredPolicies } from './policy-store.ts';

/** When the clock is further than this before the time of the fetch, the age of the policies is unknown. */
const CLOCK_SLACK_MS = 60_000;

export interface KnownPolicies {
  /**
   * Takes policies that were fetched. Returns whether they differ from those that were known; equal ones keep their snapshot.
   * `mono_ms` is the run time of the fetch; undefined when an earlier process made it.
   */
  adopt(fetched: StoredPolicies, mono_ms: number | undefined): boolean;
  /** The last policies, whatever their age. */
  readonly snapshot: PolicySnapshot | undefined;
  /** Infinite when there are none or the clock cannot tell. */
  readonly age_ms: number;
  /** The last policies, unless they are too old. */
  readonly usable: PolicySnapshot | undefined;
}

interface Fetched {
  readonly snapshot: PolicySnapshot;
  readonly text: string;
  readonly wall_ms: number;
  readonly mono_ms: number | undefined;
}

export function createKnownPolicies(clock: Clock, maxAge_ms: number): KnownPolicies {
  let known: Fetched | undefined;

  function age_ms(): number {
    if (known === undefined) return Number.POSITIVE_INFINITY;
    const byWall_ms = clock.wall_ms() - known.wall_ms;
    if (known.mono_ms === undefined)
      return byWall_ms < -CLOCK_SLACK_MS ? Number.POSITIVE_INFINITY : Math.max(0, byWall_ms);
    return Math.max(0, byWall_ms, clock.mono_ms() - known.mono_ms);
  }

  return {
    adopt({ document, fetched_at_ms }, mono_ms) {
      const text = JSON.stringify(document);
      const changed = text !== known?.text;
      const snapshot = changed || known === undefined ? toSnapshot(document) : known.snapshot;
      known = { snapshot, text, wall_ms: fetched_at_ms, mono_ms };
      return changed;
    },
    get snapshot() {
      return known?.snapshot;
    },
    get age_ms() {
      return age_ms();
    },
    get usable() {
      return known !== undefined && age_ms() <= maxAge_ms ? known.snapshot : undefined;
    },
  };
}
