// Which operation of the contract a request is for.
import { providerOperations } from '../contract/extensions.ts';
import type { Operation } from '../contract/operation.ts';
import { RemoraError } from '../core/remora-error.ts';
import { withoutQuery } from '../core/without-query.ts';

export type ProviderOperationId = keyof typeof providerOperations;

export interface Route {
  readonly id: ProviderOperationId;
  /** Empty where the path has none. */
  readonly extension_id: string;
}

const ID_CHARS_MAX = 512;
const rows = Object.entries(providerOperations as Record<ProviderOperationId, Operation>).map(
  ([id, { method, path }]) => ({ id: id as ProviderOperationId, method, parts: path.split('/') }),
);
const isName = (part: string | undefined) => part?.startsWith('{') === true;

/** Whether some operation has the path of `target`, which is relative to the base URL. */
export function isServed(target: string): boolean {
  const parts = withoutQuery(target).split('/');
  return rows.some((row) => fits(row.parts, parts));
}

/** Throws `not_found`, `method_not_allowed`, or `invalid_request` for an id that cannot be read. */
export function findRoute(method: string, target: string): Route {
  const parts = withoutQuery(target).split('/');
  const found = rows.filter((row) => fits(row.parts, parts));
  // `/extensions/events` is a path of its own and the one of an extension with that id.
  const [row] = found.filter((each) => each.method === method).sort((one, other) => names(one) - names(other));
  if (row !== undefined) return { id: row.id, extension_id: toId(parts[row.parts.findIndex(isName)]) };
  if (found.length === 0) throw new RemoraError('not_found', 'nothing is served at this path');
  const allow = [...new Set(found.map((each) => each.method))].join(', ');
  throw new RemoraError('method_not_allowed', `use ${allow}`, { details: { allow } });
}

const names = ({ parts }: { readonly parts: readonly string[] }) => parts.filter(isName).length;

function fits(row: readonly string[], parts: readonly string[]): boolean {
  return row.length === parts.length && row.every((part, at) => (isName(part) ? parts[at] !== '' : part === parts[at]));
}

function toId(part: string | undefined): string {
  if (part === undefined) return '';
  let id: string | undefined;
  try {
    id = decodeURIComponent(part);
  } catch {
    // It is no UTF-8, or a percent sign stands alone.
  }
  if (id !== undefined && id.length <= ID_CHARS_MAX) return id;
  throw new RemoraError('invalid_request', 'the id in the path cannot be read');
}
