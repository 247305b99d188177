// The raw request target of an operation with its parameters filled in. Pure.
import type { Operation } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';

type Values = Readonly<Record<string, unknown>>;

/**
 * Throws `invalid_request` for a parameter that is missing, empty, or a dot segment, which a server in between would take
 * for a step up.
 */
export function toTarget(operation: Operation, params: Values = {}, query: Values = {}): string {
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => {
    const value = String(params[name] ?? '');
    if (value === '' || value === '.' || value === '..') {
      throw new RemoraError(
        'invalid_request',
        `${name} may not be ${value === '' ? 'empty' : value} in ${operation.path}`,
      );
    }
    return encodeURIComponent(value);
  });
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}
