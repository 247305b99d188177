// The connectors that a caller may use: an organization uses all of its own, a sprite those whose policy names it. Pure.
import { isGranted } from '../../core/gateway/access-policy.ts';
import type { Principal } from '../tokens/principal.ts';
import { createCompiledPolicies } from './compiled-policies.ts';
import type { ConnectorRow } from './records/connector-store.ts';

export interface UsableConnectors {
  readonly usable: readonly ConnectorRow[];
  readonly denied: readonly ConnectorRow[];
}

/** The function that is returned caches the policies that it has compiled. */
export function createUsableConnectors(): (rows: readonly ConnectorRow[], principal: Principal) => UsableConnectors {
  const policyOf = createCompiledPolicies();
  return (rows, principal) => {
    if (principal.type !== 'sprite') return { usable: rows, denied: [] };
    const mayUse = (row: ConnectorRow) => isGranted(policyOf(row.access_policy), principal.sprite);
    return { usable: rows.filter(mayUse), denied: rows.filter((row) => !mayUse(row)) };
  };
}
