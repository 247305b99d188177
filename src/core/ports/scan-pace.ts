// How often the ports are scanned, from the cost of a scan: within a second of a change, and never more than half a percent of
// a core while nothing happens.

/** How often the kernel's counters of TCP sockets are compared. They change when a socket comes or goes. */
export const GLANCE_MS = 250;
/** The same while a caller waits for a port. */
export const ATTENTIVE_MS = 50;
const GAP_MAX_MS = 750;
/** Only the scan finds a change where there are no counters, so that its period has to stay under a second. */
const BLIND_MAX_MS = 950;
const REST_MIN_MS = 2_000;
const REST_MAX_MS = 10_000;
/** How long after a change the next one is likely. */
export const LIVELY_MS = 3_000;
/**
 * The share of a core that scanning may take, as its inverse: 0.02 % while nothing happens, because the rest of the agent needs
 * most of the 0.3 percent of an idle one; 0.5 % while connections come and go, 5 % after a port changed, 10 % for a waiter.
 */
const REST_FACTOR = 5_000;
const CHURN_FACTOR = 200;
const BUSY_FACTOR = 20;
const ATTENTIVE_FACTOR = 10;

export interface ScanPace {
  /** The time between two glances. */
  readonly glance_ms: number;
  /** The shortest time from one scan to the next. */
  readonly gap_ms: number;
  /** The longest time without a scan, also when nothing seems to change. */
  readonly rest_ms: number;
}

export interface ScanPaceInput {
  /** The smoothed cost of a scan while nothing changes. */
  readonly idleCost_ms: number;
  /** The cost of the last scan, with the search for new processes. */
  readonly lastCost_ms: number;
  /** False where the kernel shows no counters: then every glance is a scan. */
  readonly counters: boolean;
  /** A port opened or closed a moment ago, so that the next one is likely; connections that come and go do not count. */
  readonly lively: boolean;
  /** True while a caller waits for a port. */
  readonly attentive: boolean;
}

export function toScanPace({ idleCost_ms, lastCost_ms, counters, lively, attentive }: ScanPaceInput): ScanPace {
  const wanted_ms = Math.max(lastCost_ms * BUSY_FACTOR, lively ? 0 : idleCost_ms * CHURN_FACTOR);
  const gap_ms = clamp(wanted_ms, GLANCE_MS, counters ? GAP_MAX_MS : BLIND_MAX_MS);
  const rest_ms = counters ? clamp(idleCost_ms * REST_FACTOR, REST_MIN_MS, REST_MAX_MS) : gap_ms;
  if (!attentive) return { glance_ms: counters ? GLANCE_MS : gap_ms, gap_ms, rest_ms };
  const soon_ms = clamp(lastCost_ms * ATTENTIVE_FACTOR, ATTENTIVE_MS, gap_ms);
  return { glance_ms: ATTENTIVE_MS, gap_ms: soon_ms, rest_ms: counters ? rest_ms : soon_ms };
}

/** True when a scan should be made now: something may have changed and the last one is long enough ago, or it is overdue. */
export function isScanDue(pace: ScanPace, since_ms: number, changed: boolean): boolean {
  return since_ms >= (changed ? pace.gap_ms : pace.rest_ms);
}

/** The cost to plan with. It rises quickly and falls slowly, so that one cheap scan does not outweigh a costly one. */
export function smoothCost(before_ms: number | undefined, cost_ms: number): number {
  if (before_ms === undefined) return cost_ms;
  return before_ms + (cost_ms - before_ms) * (cost_ms > before_ms ? 0.5 : 0.25);
}

function clamp(value: number, min: number, max: number): number {
  return Math.min(max, Math.max(min, value));
}
