// Writes the counters of the gateway as Prometheus text. Pure. No library is used, because call-metrics.ts counts them already.
import { type CallCounts, LATENCY_BOUNDS_MS } from '../gateway/call-metrics.ts';

/** Prometheus text format 0.0.4, with a newline at the end. */
export function toGatewayMetrics({ calls, connectors }: CallCounts): string {
  const lines = [
    ...head('remora_gateway_calls_total', 'counter', 'Gateway calls by decision, connector and status.'),
    ...calls.map(({ calls: count, ...labels }) => sample('remora_gateway_calls_total', labels, count)),
    ...head('remora_gateway_tokens_total', 'counter', 'Tokens that providers said were used.'),
  ];
  for (const { provider, connector, input_tokens, output_tokens } of connectors) {
    const labels = { provider, connector };
    lines.push(sample('remora_gateway_tokens_total', { ...labels, kind: 'input' }, input_tokens));
    lines.push(sample('remora_gateway_tokens_total', { ...labels, kind: 'output' }, output_tokens));
  }
  const name = 'remora_gateway_call_seconds';
  lines.push(...head(name, 'histogram', 'Time of forwarded calls, from the request to the last byte of the answer.'));
  for (const { provider, connector, within, count, sum_ms } of connectors) {
    const labels = { provider, connector };
    for (const [index, bound_ms] of LATENCY_BOUNDS_MS.entries()) {
      lines.push(sample(`${name}_bucket`, { ...labels, le: String(bound_ms / 1_000) }, within[index] ?? 0));
    }
    lines.push(sample(`${name}_bucket`, { ...labels, le: '+Inf' }, count));
    lines.push(sample(`${name}_sum`, labels, sum_ms / 1_000));
    lines.push(sample(`${name}_count`, labels, count));
  }
  return `${lines.join('\n')}\n`;
}

function head(name: string, type: string, help: string): string[] {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`];
}

function sample(name: string, labels: Readonly<Record<string, string>>, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${toLabelText(text)}"`);
  return `${name}{${pairs.join(',')}} ${value}`;
}

function toLabelText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}
