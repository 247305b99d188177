// Counters of the gateway since the start: calls, their time and their tokens. They are plain numbers, so that counting is
// cheap; a scrape of the metrics turns them into text.
import type { GatewayRecord } from '../../contract/local/gateway.ts';

type Counted = Pick<
  GatewayRecord,
  'provider' | 'connector_id' | 'decision' | 'code' | 'status' | 'ms' | 'input_tokens' | 'output_tokens'
>;

export interface CallCount {
  readonly provider: string;
  readonly connector: string;
  readonly decision: string;
  /** Status of the answer; empty when the caller went away before it. */
  readonly status: string;
  /** Remora's error code; empty when the provider answered. */
  readonly code: string;
  calls: number;
}

export interface ConnectorTotals {
  readonly provider: string;
  readonly connector: string;
  input_tokens: number;
  output_tokens: number;
  sum_ms: number;
  count: number;
  /** Counts the calls that took at most each bound of `LATENCY_BOUNDS_MS`. */
  readonly within: number[];
}

export interface CallCounts {
  readonly calls: readonly CallCount[];
  readonly connectors: readonly ConnectorTotals[];
}

export interface CallMetrics {
  add(call: Counted): void;
  counts(): CallCounts;
}

/** The bounds reach from an answer of the platform itself to a model that thinks for minutes. */
export const LATENCY_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];
/** Further series are counted together as one, because their labels come from outside. */
const SERIES_MAX = 1_000;
const OTHER = 'other';

export function createCallMetrics(): CallMetrics {
  const calls = new Map<string, CallCount>();
  const connectors = new Map<string, ConnectorTotals>();

  /** What was counted last: most calls are like the one before. */
  let last: CallCount | undefined;

  function countOf(labels: Omit<CallCount, 'calls'>): CallCount {
    const key = `${labels.decision} ${labels.status} ${labels.code} ${labels.provider} ${labels.connector}`;
    const known = calls.get(key);
    if (known !== undefined) return known;
    if (calls.size >= SERIES_MAX && labels.connector !== OTHER) {
      return countOf({ ...labels, provider: OTHER, connector: OTHER, status: OTHER });
    }
    const count = { ...labels, calls: 0 };
    calls.set(key, count);
    return count;
  }

  function totalsOf(provider: string, connector: string): ConnectorTotals {
    const known = connectors.get(connector);
    if (known !== undefined) return known;
    if (connectors.size >= SERIES_MAX && connector !== OTHER) return totalsOf(OTHER, OTHER);
    const within = LATENCY_BOUNDS_MS.map(() => 0);
    const totals = { provider, connector, input_tokens: 0, output_tokens: 0, sum_ms: 0, count: 0, within };
    connectors.set(connector, totals);
    return totals;
  }

  return {
    add(call) {
      // When no connector matched, the caller made up the names of provider and connector.
      const isKnown = call.decision !== 'reject';
      const provider = isKnown ? call.provider : '';
      const connector = isKnown ? call.connector_id : '';
      const status = call.status === null ? '' : String(call.status);
      const labels = { provider, connector, decision: call.decision, status, code: call.code ?? '' };
      if (last === undefined || !isOf(last, labels)) last = countOf(labels);
      last.calls += 1;
      if (call.decision !== 'allow') return;
      const totals = totalsOf(provider, connector);
      totals.input_tokens += call.input_tokens ?? 0;
      totals.output_tokens += call.output_tokens ?? 0;
      totals.sum_ms += call.ms;
      totals.count += 1;
      for (let index = LATENCY_BOUNDS_MS.length - 1; index >= 0; index -= 1) {
        if (call.ms > (LATENCY_BOUNDS_MS[index] ?? 0)) break;
        totals.within[index] = (totals.within[index] ?? 0) + 1;
      }
    },
    counts: () => ({ calls: [...calls.values()], connectors: [...connectors.values()] }),
  };
}

function isOf(count: CallCount, { provider, connector, decision, status, code }: Omit<CallCount, 'calls'>): boolean {
  const isSameTarget = count.connector === connector && count.provider === provider;
  return isSameTarget && count.status === status && count.code === code && count.decision === decision;
}
