// From a method and a raw path to one row of the contract. Static segments win over parameters, and rows whose last part is
// `{name...}` are tried last, by their literal prefix, so that their path reaches the handler exactly as it was sent.
import { addRoute, createRouter as createTree, findRoute } from 'rou3';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';

export interface Match {
  readonly id: string;
  readonly row: Operation;
  /** Decoded. Empty for a `{name...}` row. */
  readonly params: Readonly<Record<string, string>>;
}

export interface Router {
  /** Throws `not_found`, `method_not_allowed` (details: `allow`), or `invalid_target` for a broken escape. */
  match(method: string, path: string): Match;
}

/** The rows of one path by method. */
type Entry = Map<string, { readonly id: string; readonly row: Operation }>;

/** Throws when two rows claim one method of one path, or name its parameters differently. */
export function createRouter(operations: Operations): Router {
  const tree = createTree<Entry>();
  const entries = new Map<string, { readonly path: string; readonly rows: Entry }>();
  const prefixes: { readonly prefix: string; readonly rows: Entry }[] = [];
  for (const [id, row] of Object.entries(operations)) {
    const isPrefix = row.path.endsWith('...}');
    const key = isPrefix ? row.path.slice(0, row.path.indexOf('{')) : row.path.replaceAll(/\{\w+\}/g, '{}');
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { path: row.path, rows: new Map() };
      entries.set(key, entry);
      if (isPrefix) prefixes.push({ prefix: key, rows: entry.rows });
      else addRoute(tree, '', row.path.replaceAll(/\{(\w+)\}/g, ':$1'), entry.rows);
    }
    if (entry.path !== row.path || entry.rows.has(row.method)) {
      throw new Error(`row ${id}: ${row.method} ${row.path} collides with another row at ${entry.path}`);
    }
    entry.rows.set(row.method, { id, row });
  }
  prefixes.sort((one, other) => other.prefix.length - one.prefix.length);
  return {
    match(method, path) {
      const found = path.includes('//') ? undefined : findRoute(tree, '', path);
      if (found !== undefined) return { ...pick(found.data, method), params: decodeParams(found.params ?? {}) };
      const rest = prefixes.find((candidate) => path.startsWith(candidate.prefix));
      if (rest !== undefined) return { ...pick(rest.rows, method), params: {} };
      throw new RemoraError('not_found', `there is nothing at ${path}; GET /openapi.json lists what is`);
    },
  };
}

function pick(rows: Entry, method: string) {
  const hit = rows.get(method) ?? (method === 'HEAD' ? rows.get('GET') : undefined) ?? rows.get('*');
  if (hit !== undefined) return hit;
  const allow = [...rows.keys()].flatMap((name) => (name === 'GET' ? ['GET', 'HEAD'] : [name])).join(', ');
  throw new RemoraError('method_not_allowed', `${method} is not allowed here; use ${allow}`, { details: { allow } });
}

function decodeParams(params: Readonly<Record<string, string>>): Record<string, string> {
  const decoded: Record<string, string> = {};
  for (const [name, value] of Object.entries(params)) {
    try {
      decoded[name] = decodeURIComponent(value);
    } catch {
      throw new RemoraError('invalid_target', `the path has a broken escape in ${name}`, { details: { field: name } });
    }
  }
  return decoded;
}
