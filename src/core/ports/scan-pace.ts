// How often the ports are scanned, from what a scan costs: within a second where the budget allows it, and never more than half a
// percent of a core while nothing happens (design.md, section 6).

/** How often the two small counters of the kernel are compared; they change whenever a TCP socket comes or goes. */
export const GLANCE_MS = 250;
/** With somebody waiting for a port, and thus not idle. */
export const ATTENTIVE_MS = 50;
const GAP_MAX_MS = 950;
const REST_MIN_MS = 2_000;
const REST_MAX_MS = 10_000;
/** 1 / 0.5 % of a core. */
const COST_FACTOR = 200;

export interface ScanPace {
  /** The time between two looks at the counters. */
  readonly glance_ms: number;
  /** The least time from one scan to the next. */
  readonly gap_ms: number;
  /** The most time without a scan, also when the counters stand still. */
  readonly rest_ms: number;
}

export interface ScanPaceInput {
  /** What a scan costs, smoothed. */
  readonly cost_ms: number;
  /** False where the kernel shows no counters: then every look is a scan. */
  readonly counters: boolean;
  /** Somebody waits for a port right now. */
  readonly attentive: boolean;
}

export function toScanPace({ cost_ms, counters, attentive }: ScanPaceInput): ScanPace {
  const gap_ms = clamp(cost_ms * COST_FACTOR, GLANCE_MS, GAP_MAX_MS);
  const calm: ScanPace = counters
    ? { glance_ms: GLANCE_MS, gap_ms, rest_ms: clamp(cost_ms * COST_FACTOR * 2, REST_MIN_MS, REST_MAX_MS) }
    : { glance_ms: gap_ms, gap_ms, rest_ms: gap_ms };
  if (!attentive) return calm;
  const soon_ms = clamp(cost_ms * 10, ATTENTIVE_MS, gap_ms);
  return { glance_ms: ATTENTIVE_MS, gap_ms: soon_ms, rest_ms: counters ? REST_MIN_MS : soon_ms };
}

/** True when a scan should be made now: something may have changed and the last one is long enough ago, or it is overdue. */
export function isScanDue(pace: ScanPace, since_ms: number, changed: boolean): boolean {
  return since_ms >= (changed ? pace.gap_ms : pace.rest_ms);
}

/** The cost to plan with: quick to go up, slow to come down, so that one cheap scan does not undo what a costly one taught. */
export function smoothCost(before_ms: number | undefined, cost_ms: number): number {
  if (before_ms === undefined) return cost_ms;
  return before_ms + (cost_ms - before_ms) * (cost_ms > before_ms ? 0.5 : 0.1);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
