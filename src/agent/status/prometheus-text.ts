// One metric as Prometheus text, format 0.0.4. Pure.
export interface Sample {
  /** What follows the name of the metric, such as `_bucket`. */
  readonly suffix?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly value: number;
}

/** `help`: one line without a backslash. Every line ends with a newline. */
export function toMetricText(
  name: string,
  { type, help, samples }: { readonly type: string; readonly help: string; readonly samples: readonly Sample[] },
): string {
  const lines = samples.map(
    ({ suffix = '', labels = {}, value }) => `${name}${suffix}${toLabels(labels)} ${toNumber(value)}\n`,
  );
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function toLabels(labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${toLabelText(text)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function toLabelText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function toNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}
