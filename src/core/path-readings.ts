// Every way in which a provider could read one path (design.md, section 5, point 3). Case and the last slash are left to the
// comparison, because they count for block rules only.
import { isPlainPath, toPathLayers } from './path-layers.ts';
import { withoutQuery } from './without-query.ts';

type Change = (path: string) => string;

/** What servers are known to do to a path before they route it. Each may happen or not, so they multiply. */
const changes: readonly Change[] = [
  (path) => before(path, '?'),
  (path) => before(path, '#'),
  (path) => before(path, ' '),
  (path) => path.replaceAll(/ +(?=\/|$)|(?<=\/) +/g, ''),
  (path) => path.replaceAll('\\', '/'),
  (path) => path.replaceAll(/;[^/]*/g, ''),
  mergeSlashes,
];

/**
 * The readings of a path without its query, the path itself first; `undefined` for one that has to be refused. A plain path
 * has one reading and costs one scan.
 */
export function toPathReadings(path: string): readonly string[] | undefined {
  if (isPlainPath(path)) return [path];
  const layers = toPathLayers(path);
  if (layers.type === 'reject') return undefined;
  const readings = new Set(layers.texts);
  for (const change of changes) for (const reading of [...readings]) readings.add(rooted(change(reading)));
  return [...readings];
}

/** A target as it is once everything has been done to its path, which is its last reading; null for one that has to be refused. */
export function toCanonicalPath(target: string): string | null {
  return toPathReadings(withoutQuery(target))?.at(-1) ?? null;
}

/** The readings of a rule: decoded and merged like a path, but never shortened, because that would widen it. */
export function toRuleReadings(rule: string): readonly string[] {
  const layers = toPathLayers(rule);
  const readings = new Set(layers.type === 'reject' ? [rule] : layers.texts);
  for (const reading of [...readings]) readings.add(mergeSlashes(reading.replaceAll('\\', '/')));
  return [...readings];
}

function before(path: string, mark: string): string {
  const index = path.indexOf(mark);
  return index < 0 ? path : path.slice(0, index);
}

function mergeSlashes(path: string): string {
  return path.includes('//') ? path.replaceAll(/\/{2,}/g, '/') : path;
}

function rooted(path: string): string {
  return path === '' ? '/' : path;
}
