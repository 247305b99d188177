// What the gateway has done, as counters since the start: calls, their time, their tokens. Plain numbers, so that counting costs
// nothing; they become text when somebody asks for metrics.
import type { GatewayRecord } from '../../contract/local/gateway.ts';

type Counted = Pick<
  GatewayRecord,
  'provider' | 'connector_id' | 'decision' | 'code' | 'status' | 'ms' | 'input_tokens' | 'output_tokens'
>;

export interface CallCount {
  readonly provider: string;
  readonly connector: string;
  readonly decision: string;
  /** Of the answer; empty when the caller went away before. */
  readonly status: string;
  /** Our error code; empty when the provider answered. */
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
  /** For each bound of `LATENCY_BOUNDS_MS` the calls that took at most so long. */
  readonly within: number[];
}

export interface CallCounts {
  readonly calls: readonly CallCount[];
  readonly connectors: readonly ConnectorTotals[];
}

export interface CallMeter {
  add(call: Counted): void;
  counts(): CallCounts;
}

/** From an answer of the platform itself to a model that thinks for minutes. */
export const LATENCY_BOUNDS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000];
/** Series beyond these are counted together: names come from the platform, and numbers from providers. */
const SERIES_MAX = 1_000;
const OTHER = 'other';

export function createCallMeter(): CallMeter {
  const calls = new Map<string, CallCount>();
  const connectors = new Map<string, ConnectorTotals>();

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
      // The names of a call that no connector was found for are the caller's invention.
      const isKnown = call.decision !== 'reject';
      const provider = isKnown ? call.provider : '';
      const connector = isKnown ? call.connector_id : '';
      const status = call.status === null ? '' : String(call.status);
      countOf({ provider, connector, decision: call.decision, status, code: call.code ?? '' }).calls += 1;
      if (call.decision !== 'allow') return;
      const totals = totalsOf(provider, connector);
      totals.input_tokens += call.input_tokens ?? 0;
      totals.output_tokens += call.output_tokens ?? 0;
      totals.sum_ms += call.ms;
      totals.count += 1;
      for (const [index, bound_ms] of LATENCY_BOUNDS_MS.entries()) {
        if (call.ms <= bound_ms) totals.within[index] = (totals.within[index] ?? 0) + 1;
      }
    },
    counts: () => ({ calls: [...calls.values()], connectors: [...connectors.values()] }),
  };
}
