// Writes the figures of /v1/status as Prometheus text, without a library: they are counted already, and one would cost the agent 7 MB from the
// first scrape on. Pure.
import { partState } from '../../contract/local/status.ts';
import type { CallCounts } from '../gateway/call-metrics.ts';
import type { PartName, PartStatus } from '../parts.ts';
import { toGatewayMetrics } from './gateway-metrics.ts';
import type { OwnCost } from './own-cost.ts';
import { type Sample, toMetricText } from './prometheus-text.ts';

export interface MetricsInput {
  readonly version: string;
  readonly generation: number;
  readonly streams: number;
  readonly seq: number;
  readonly parts: Readonly<Record<PartName, PartStatus>>;
  readonly cost: OwnCost;
  readonly gatewayCalls: CallCounts;
}

/** Prometheus text format 0.0.4; names and units follow the Prometheus conventions (seconds, bytes, `_total`). */
export function toMetrics({ version, generation, streams, seq, parts, cost, gatewayCalls }: MetricsInput): string {
  const cpu_ms = cost.cpu_user_ms + cost.cpu_system_ms;
  const held = { operation: cost.longest_hold_operation ?? 'none' };
  return [
    toGauge('remora_info', 'Version of the agent.', [{ labels: { version }, value: 1 }]),
    toGauge('remora_generation', 'Resumes counted since the first start on this machine.', generation),
    toGauge('remora_streams', 'Event streams open on the socket.', streams),
    toGauge('remora_event_seq', 'Number of the last event.', seq),
    toGauge('remora_part_state', 'State of each part: 1 for the state it is in.', toStates(parts)),
    toGauge('remora_resident_memory_bytes', 'Resident memory of the agent.', cost.rss_bytes),
    toGauge('remora_cpu_seconds', 'CPU the agent has used, user and system.', cpu_ms / 1_000),
    toGauge(
      'remora_loop_lag_p99_seconds',
      'Event loop delay, 99th percentile since the start.',
      cost.loop_lag_p99_ms / 1_000,
    ),
    toGauge(
      'remora_loop_longest_hold_seconds',
      'The longest time for which one operation kept everything else from running, since the start.',
      [{ labels: held, value: cost.longest_hold_ms / 1_000 }],
    ),
    cost.open_fds === null ? '' : toGauge('remora_open_fds', 'Open file descriptors.', cost.open_fds),
    toGatewayMetrics(gatewayCalls),
  ].join('');
}

function toGauge(name: string, help: string, value: number | readonly Sample[]): string {
  return toMetricText(name, { type: 'gauge', help, samples: typeof value === 'number' ? [{ value }] : value });
}

function toStates(parts: MetricsInput['parts']): Sample[] {
  return Object.entries(parts).flatMap(([part, report]) =>
    partState.options.map((state) => ({ labels: { part, state }, value: report.state === state ? 1 : 0 })),
  );
}
