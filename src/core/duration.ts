// Durations from outside: seconds as a number, or text such as "500ms", "30s", "10m", "2h".

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds, or undefined for what is not a duration. A bare number counts seconds. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9}(?:\.\d{1,3})?)(ms|s|m|h)?$/.exec(text.trim());
  const unit = UNIT_MS[match?.[2] ?? 's'];
  return match?.[1] === undefined || unit === undefined ? undefined : Math.round(Number(match[1]) * unit);
}
