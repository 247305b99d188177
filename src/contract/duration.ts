// Durations from outside: seconds as a number or as text, or text with a unit such as "500ms", "30s", "5m", "1h".
import * as z from './lazy-zod.ts';

const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };
const FORM = /^(-?\d{1,15}(?:\.\d{1,9})?)(ms|s|m|h)?$/;

/** Three hundred years: longer than any duration that is meant. */
const SENSE_MAX_MS = 1e13;

/** Milliseconds, or undefined for what is not a duration. A bare number counts seconds. */
export function parseDuration(text: string): number | undefined {
  const value = toMilliseconds(text.trim());
  return value === undefined || value < 0 || value > SENSE_MAX_MS ? undefined : Math.round(value);
}

const givenDuration = z
  .union([z.number(), z.string().regex(FORM)], { error: 'expected seconds, or a duration such as "500ms" or "30s"' })
  .transform((value) => (typeof value === 'number' ? value * 1_000 : (toMilliseconds(value) ?? 0)));

/** Milliseconds, moved into `min_ms` to `max_ms`: the rule for every wait from outside. */
export function queryDuration(min_ms: number, max_ms: number) {
  return givenDuration
    .transform((value) => Math.round(Math.min(max_ms, Math.max(min_ms, value))))
    .pipe(z.int().min(min_ms).max(max_ms));
}

/**
 * A lifetime in milliseconds. More than `max_ms` is refused and not clamped: what was asked for would end earlier than the
 * caller expects.
 */
export function lifeDuration(min_ms: number, max_ms: number, limit: string) {
  return givenDuration
    .refine((value) => value <= max_ms, { error: `must be at most ${limit}` })
    .transform((value) => Math.round(Math.max(min_ms, value)))
    .pipe(z.int().min(min_ms).max(max_ms));
}

function toMilliseconds(text: string): number | undefined {
  const match = FORM.exec(text);
  const unit = UNIT_MS[match?.[2] ?? 's'];
  return match?.[1] === undefined || unit === undefined ? undefined : Number(match[1]) * unit;
}
