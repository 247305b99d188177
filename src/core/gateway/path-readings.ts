// Every way in which a provider could read one path. Case and the last slash are left to the comparison, because they count for
// block rules only. Pure.

import { withoutQuery } from '../without-query.ts';
import { mergeSlashes, pathChanges, withSlashes } from './path-changes.ts';
import { isPlainPath, toPathLayers, toRuleLayers } from './path-layers.ts';

/** A path with more readings is refused, because judging it costs time for each of them. */
export const MAX_READINGS = 32;

/**
 * The readings of a path without its query, the path itself first; `undefined` for a path that has to be refused. A plain path
 * has one reading and costs one scan.
 */
export function toPathReadings(path: string): readonly string[] | undefined {
  if (isPlainPath(path)) return [path];
  const layers = toPathLayers(path);
  if (layers.type === 'reject') return undefined;
  const readings = new Set(layers.texts);
  for (const change of pathChanges) {
    for (const reading of [...readings]) {
      readings.add(change(reading) || '/');
      if (readings.size > MAX_READINGS) return undefined;
    }
  }
  return [...readings];
}

/** A target after all changes to its path; null for one that has to be refused. */
export function toCanonicalPath(target: string): string | null {
  return toPathReadings(withoutQuery(target))?.at(-1) ?? null;
}

/** The readings of a rule: decoded and merged like a path, but never shortened, because that would widen it. */
export function toRuleReadings(rule: string): readonly string[] {
  const layers = toRuleLayers(rule);
  const readings = new Set(layers.type === 'reject' ? [rule] : layers.texts);
  for (const reading of [...readings]) {
    readings.add(mergeSlashes(reading.includes('\\') ? withSlashes(reading) : reading));
  }
  return [...readings];
}
