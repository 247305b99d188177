// What the scans so far have cost and shown, and the pace that follows from it. Pure: times come in as arguments.
import { LIVELY_MS, type ScanPace, smoothCost, toScanPace } from './scan-pace.ts';

export interface ScanCost {
  /** The cost of the whole scan. */
  readonly cost_ms: number;
  /** The part of it that every scan costs, also when nothing has changed. */
  readonly idleCost_ms: number;
}

export interface ScanHistory {
  /** Notes a scan that succeeded. `changed`: a port opened or closed. Times are run time. */
  note(cost: ScanCost, changed: boolean, mono_ms: number): void;
  /** Notes the end of a scan, also of one that failed. */
  noteEnd(mono_ms: number): void;
  /** The time since the end of the last scan; infinite before the first. */
  since_ms(mono_ms: number): number;
  /** `hasCounters`: the kernel shows when a scan is due. `attentive`: a caller waits for a port. */
  pace(now: { readonly mono_ms: number; readonly hasCounters: boolean; readonly attentive: boolean }): ScanPace;
  /** How many scans have succeeded. */
  readonly scans: number;
  /** The cost of the last scan; `idleCost_ms` is smoothed over those before it. */
  readonly cost: ScanCost;
}

/** `period_ms`: a fixed pace instead of one that follows the cost. */
export function createScanHistory(period_ms?: number): ScanHistory {
  let scans = 0;
  let cost: ScanCost = { cost_ms: 0, idleCost_ms: 0 };
  let changed_mono_ms = Number.NEGATIVE_INFINITY;
  let ended_mono_ms = Number.NEGATIVE_INFINITY;
  return {
    note({ cost_ms, idleCost_ms }, changed, mono_ms) {
      cost = { cost_ms, idleCost_ms: smoothCost(scans === 0 ? undefined : cost.idleCost_ms, idleCost_ms) };
      scans += 1;
      if (changed) changed_mono_ms = mono_ms;
    },
    noteEnd(mono_ms) {
      ended_mono_ms = mono_ms;
    },
    since_ms: (mono_ms) => mono_ms - ended_mono_ms,
    pace({ mono_ms, hasCounters, attentive }) {
      if (period_ms !== undefined) return { glance_ms: period_ms, gap_ms: period_ms, rest_ms: period_ms };
      const lively = mono_ms - changed_mono_ms < LIVELY_MS;
      return toScanPace({
        idleCost_ms: cost.idleCost_ms,
        lastCost_ms: cost.cost_ms,
        counters: hasCounters,
        lively,
        attentive,
      });
    },
    get scans() {
      return scans;
    },
    get cost() {
      return cost;
    },
  };
}
