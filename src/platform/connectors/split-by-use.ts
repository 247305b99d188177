// Which connectors a caller may use: an organization uses all of its own, a sprite those whose policy names it. Policies are judged in
// several turns of the event loop, because each is read for it and may be a megabyte.
import { type CompiledPolicy, isGranted } from '../../core/gateway/access-policy.ts';
import { mapInTurns } from '../../core/map-in-turns.ts';
import { type Principal, spriteOf } from '../tokens/principal.ts';
import type { ConnectorRow } from './records/connector-store.ts';

/** What a row costs beside its policy. */
const ROW_COST = 64;

/** Both parts keep the order of the rows. */
export async function splitByUse(
  rows: readonly ConnectorRow[],
  principal: Principal,
  policyOf: (stored: string | null) => CompiledPolicy,
): Promise<{ readonly usable: readonly ConnectorRow[]; readonly denied: readonly ConnectorRow[] }> {
  const sprite = spriteOf(principal);
  if (sprite === undefined) return { usable: rows, denied: [] };
  const usable: ConnectorRow[] = [];
  const denied: ConnectorRow[] = [];
  await mapInTurns(
    rows,
    (row) => ROW_COST + (row.access_policy?.length ?? 0),
    (row) => (isGranted(policyOf(row.access_policy), sprite) ? usable : denied).push(row),
  );
  return { usable, denied };
}
