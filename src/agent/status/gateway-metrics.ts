// Writes the counters of the gateway as Prometheus text. Pure.
import { type CallCounts, LATENCY_BOUNDS_MS } from '../gateway/call-metrics.ts';
import { type Sample, toMetricText } from './prometheus-text.ts';

/** Prometheus text format 0.0.4, with a newline at the end. */
export function toGatewayMetrics({ calls, connectors }: CallCounts): string {
  const counted = toMetricText('remora_gateway_calls_total', {
    type: 'counter',
    help: 'Gateway calls by decision, connector and status.',
    samples: calls.map(({ calls: value, ...labels }) => ({ labels, value })),
  });
  const tokens = toMetricText('remora_gateway_tokens_total', {
    type: 'counter',
    help: 'Tokens that providers said were used.',
    samples: connectors.flatMap(({ provider, connector, input_tokens, output_tokens }) => [
      { labels: { provider, connector, kind: 'input' }, value: input_tokens },
      { labels: { provider, connector, kind: 'output' }, value: output_tokens },
    ]),
  });
  const times = toMetricText('remora_gateway_call_seconds', {
    type: 'histogram',
    help: 'Time of forwarded calls, from the request to the last byte of the answer.',
    samples: connectors.flatMap(toTimes),
  });
  return counted + tokens + times;
}

function toTimes({ provider, connector, within, count, sum_ms }: CallCounts['connectors'][number]): Sample[] {
  const labels = { provider, connector };
  const bucket = (le: string, value: number) => ({ suffix: '_bucket', labels: { ...labels, le }, value });
  return [
    ...LATENCY_BOUNDS_MS.map((bound_ms, index) => bucket(String(bound_ms / 1_000), within[index] ?? 0)),
    bucket('+Inf', count),
    { suffix: '_sum', labels, value: sum_ms / 1_000 },
    { suffix: '_count', labels, value: count },
  ];
}
