// When one resumed machine among many may connect: at a time of its own within the spread that the platform asked for. It is
// computed without asking other machines or the platform, because such requests are what is spread. Pure.
import { createHash } from 'node:crypto';

/** The longest spread that a platform may ask for. */
export const RECONNECT_SPREAD_MAX_MS = 300_000;

const HASH_BYTES = 6;

/**
 * The delay after a resume in whole milliseconds, from 0 to less than `spread_ms`. The same for the same machine and generation,
 * so that a recovery that starts over does not draw again until it hits a short one.
 */
export function toReconnectDelay(machine_id: string, generation: number, spread_ms: number): number {
  const hash = createHash('sha256').update(`${machine_id}\n${generation}`, 'utf8').digest();
  const fraction = hash.readUIntBE(0, HASH_BYTES) / 2 ** (8 * HASH_BYTES);
  return Math.floor(fraction * clampSpread(spread_ms));
}

/** The spread clamped to 0 and the maximum; 0 for a value that is no number. */
export function clampSpread(spread_ms: number): number {
  return Math.min(RECONNECT_SPREAD_MAX_MS, Math.max(0, Number.isFinite(spread_ms) ? Math.floor(spread_ms) : 0));
}
