// What is counted of the lines that the node sends.

export interface StreamCounts {
  lines: number;
  transactions: number;
  primary_changes: number;
  gaps: number;
  unknown: number;
  invalid: number;
  cut: number;
  refused: number;
}

/** All zero. */
export function createStreamCounts(): StreamCounts {
  return {
    lines: 0,
    transactions: 0,
    primary_changes: 0,
    gaps: 0,
    unknown: 0,
    invalid: 0,
    cut: 0,
    refused: 0,
  };
}
