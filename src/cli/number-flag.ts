// A port, or another whole number, as a flag gives it. Pure.
import { UsageError } from './exit-code.ts';

/** Throws UsageError for what is no whole number between `least` and `most`. */
export function parseWhole(
  flag: string,
  text: string | undefined,
  otherwise: number,
  least: number,
  most: number,
): number {
  if (text === undefined) return otherwise;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least && value <= most) return value;
  throw new UsageError(`--${flag} takes a whole number from ${least} to ${most}, not ${text}`);
}

export function parsePort(text: string | undefined, otherwise: number): number {
  return parseWhole('port', text, otherwise, 0, 65_535);
}
