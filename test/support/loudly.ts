// Skipping a test for want of a tool, in a way that shows in the output: a skipped test alone is one grey line among many.

/** Passes `missing` on; says why on stderr when something is. */
export function loudly(missing: boolean, reason: string): boolean {
  if (missing) process.stderr.write(`\n*** SKIPPED: ${reason} ***\n\n`);
  return missing;
}
