// Writes the figures of /v1/status as Prometheus text. Each scrape makes its own gauges, so that nothing is counted in between.
import { Gauge, Registry } from 'prom-client';
import { partState } from '../../contract/local/status.ts';
import type { CallCounts } from '../gateway/call-metrics.ts';
import type { PartName, PartStatus } from '../parts.ts';
import { toGatewayMetrics } from './gateway-metrics.ts';
import type { OwnCost } from './own-cost.ts';

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
export async function toMetrics(input: MetricsInput): Promise<string> {
  const registry = new Registry();
  const gauge = (name: string, help: string, value: number) => {
    new Gauge({ name, help, registers: [registry] }).set(value);
  };
  new Gauge({ name: 'remora_info', help: 'Version of the agent.', labelNames: ['version'], registers: [registry] }).set(
    { version: input.version },
    1,
  );
  gauge('remora_generation', 'Resumes counted since the first start on this machine.', input.generation);
  gauge('remora_streams', 'Event streams open on the socket.', input.streams);
  gauge('remora_event_seq', 'Number of the last event.', input.seq);
  const parts = new Gauge({
    name: 'remora_part_state',
    help: 'State of each part: 1 for the state it is in.',
    labelNames: ['part', 'state'],
    registers: [registry],
  });
  for (const [part, report] of Object.entries(input.parts)) {
    for (const state of partState.options) parts.set({ part, state }, report.state === state ? 1 : 0);
  }
  const { cost } = input;
  gauge('remora_resident_memory_bytes', 'Resident memory of the agent.', cost.rss_bytes);
  gauge(
    'remora_cpu_seconds',
    'CPU the agent has used, user and system.',
    (cost.cpu_user_ms + cost.cpu_system_ms) / 1_000,
  );
  gauge(
    'remora_loop_lag_p99_seconds',
    'Event loop delay, 99th percentile since the start.',
    cost.loop_lag_p99_ms / 1_000,
  );
  new Gauge({
    name: 'remora_loop_longest_hold_seconds',
    help: 'The longest time for which one operation kept everything else from running, since the start.',
    labelNames: ['operation'],
    registers: [registry],
  }).set({ operation: cost.longest_hold_operation ?? 'none' }, cost.longest_hold_ms / 1_000);
  if (cost.open_fds !== null) gauge('remora_open_fds', 'Open file descriptors.', cost.open_fds);
  return (await registry.metrics()) + toGatewayMetrics(input.gatewayCalls);
}
