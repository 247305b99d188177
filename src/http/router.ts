// From a method and a raw path to one row of the contract. Static segments win over parameters, and rows whose last part is
// `{name...}` are tried last, by their literal prefix, so that their path reaches the handler exactly as it was sent.
import { addRoute, createRouter as createTree, findRoute } from 'rou3';
import type { Operation, Operations } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';

export interface Match {
  readonly id: string;
  readonly row: Operation;
  readonly params: Readonly<Record<string, string>>;
}

export interface Router {
  /** Throws `not_found`, `method_not_allowed` (details: `allow`), or `invalid_target` for a broken escape. */
  match(method: string, path: string): Match;
}

interface Entry {
  readonly allow: string[];
  readonly rows: Map<string, { readonly id: string; readonly row: Operation }>;
}

export function createRouter(operations: Operations): Router {
  const tree = createTree<Entry>();
  const entries = new Map<string, Entry>();
  const prefixes: { readonly prefix: string; readonly id: string; readonly row: Operation }[] = [];
  for (const [id, row] of Object.entries(operations)) {
    if (row.path.endsWith('...}')) {
      prefixes.push({ prefix: row.path.slice(0, row.path.indexOf('{')), id, row });
      continue;
    }
    const pattern = row.path.replaceAll(/\{(\w+)\}/g, ':$1');
    let entry = entries.get(pattern);
    if (entry === undefined) {
      entry = { allow: [], rows: new Map() };
      entries.set(pattern, entry);
      addRoute(tree, '', pattern, entry);
    }
    entry.rows.set(row.method, { id, row });
    entry.allow.push(...(row.method === 'GET' ? ['GET', 'HEAD'] : [row.method]));
  }
  return {
    match(method, path) {
      const found = path.includes('//') ? undefined : findRoute(tree, '', path);
      if (found !== undefined) {
        const hit = found.data.rows.get(method === 'HEAD' ? 'GET' : method);
        if (hit !== undefined) return { ...hit, params: decodeParams(found.params ?? {}) };
        const allow = found.data.allow.join(', ');
        throw new RemoraError('method_not_allowed', `${method} is not allowed here; use ${allow}`, {
          details: { allow },
        });
      }
      const rest = prefixes.find((candidate) => path.startsWith(candidate.prefix));
      if (rest !== undefined) return { id: rest.id, row: rest.row, params: {} };
      throw new RemoraError('not_found', `there is nothing at ${path}; GET /openapi.json lists what is`);
    },
  };
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
