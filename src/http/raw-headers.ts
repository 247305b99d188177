// Header lists as they are on the wire: flat, name and value in turn.
import type { Dispatcher } from 'undici';

/** Raw headers as undici keeps them, one byte in each character. */
export function toTexts(raw: Dispatcher.DispatchController['rawHeaders']): string[] {
  if (!Array.isArray(raw)) return [];
  if (typeof raw[0] === 'string') return raw as string[];
  return raw.map((item) => (typeof item === 'string' ? item : item.toString('latin1')));
}

export function toPairs(flat: readonly string[]): [string, string][] {
  const pairs: [string, string][] = [];
  for (let index = 0; index + 1 < flat.length; index += 2) pairs.push([flat[index] ?? '', flat[index + 1] ?? '']);
  return pairs;
}
