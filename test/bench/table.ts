// What the benchmarks print: figures with their bar and whether it is met.
export interface Figure {
  readonly what: string;
  /** The text that people read, with its unit. */
  readonly value: string;
  /** Absent = only told. */
  readonly bar?: string;
  readonly met?: boolean;
}

export function printTable(title: string, figures: readonly Figure[]): void {
  const rows = figures.map(({ what, value, bar = '', met }) => [
    what,
    value,
    bar,
    met === undefined ? '' : met ? 'met' : 'MISSED',
  ]);
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  console.log(`\n${title}`);
  for (const row of rows)
    console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   ')}`.trimEnd());
}

/** The value below which `share` of them lie; NaN of nothing. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
