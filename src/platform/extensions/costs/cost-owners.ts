// Finds whose the lines of a provider's answer are: its own extensions only, by the ids that it gave them.
import { nextSlice } from '../../../core/next-slice.ts';
import type { Sql } from '../../storage/storage.ts';
import type { CostOwner } from './cost-ledger.ts';

interface StoredOwner extends CostOwner {
  readonly provider_id: string;
}

const AT_ONCE = 100;

/**
 * The owners, by the id at the provider. An extension that is gone is found by its earlier lines: what it cost last comes after its end.
 * An id that was never one of this provider's extensions is absent.
 */
export async function findCostOwners(
  sql: Sql,
  provider: string,
  ids: Iterable<string>,
): Promise<ReadonlyMap<string, CostOwner>> {
  const asked = [...new Set(ids)];
  const owners = new Map<string, CostOwner>();
  for (let from = 0; from < asked.length; from += AT_ONCE) {
    if (from > 0) await nextSlice();
    const some = asked.slice(from, from + AT_ONCE);
    const places = some.map((_, index) => `$${index + 2}`).join(', ');
    const billed = `SELECT DISTINCT provider_extension_id AS provider_id, extension_id AS id, organization_id, organization
      FROM extension_costs WHERE provider = $1 AND extension_id IS NOT NULL AND provider_extension_id IN (${places})`;
    const known = `SELECT e.provider_id, e.id, e.organization_id, o.slug AS organization
      FROM extensions e JOIN organizations o ON o.id = e.organization_id
      WHERE e.provider = $1 AND e.provider_id IN (${places}) ORDER BY CASE WHEN e.state = 'deleted' THEN 0 ELSE 1 END`;
    for (const text of [billed, known]) {
      const rows = await sql.all<StoredOwner>(text, [provider, ...some]);
      for (const { provider_id, ...owner } of rows) owners.set(provider_id, owner);
    }
  }
  return owners;
}
