// The operations that tell what extensions have cost.
import type { extensionCostOperations } from '../../../contract/extension-cost-totals.ts';
import { toDateTime } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { Handlers } from '../../../http/handler.ts';
import type { Sql } from '../../storage/storage.ts';
import { organizationOf, type Principal } from '../../tokens/principal.ts';
import { toCostCsv } from './cost-csv.ts';
import { createCostFetches } from './cost-fetches.ts';
import { createCostReader } from './cost-totals.ts';

export function createCostHandlers(storage: Sql): Handlers<typeof extensionCostOperations, Principal> {
  const reader = createCostReader(storage);
  const fetches = createCostFetches(storage);

  /** `idOrName`: the id, also of one that is deleted, or the name. */
  async function findExtension(organization_id: string, idOrName: string): Promise<string> {
    const text = `SELECT id FROM extensions WHERE organization_id = $1 AND (id = $2 OR (name = $2 AND state <> 'deleted'))
      ORDER BY CASE WHEN id = $2 THEN 0 ELSE 1 END LIMIT 1`;
    const found = await storage.one<{ readonly id: string }>(text, [organization_id, idOrName]);
    if (found === undefined) throw new RemoraError('not_found', 'there is no such extension');
    return found.id;
  }

  return {
    async readExtensionCosts({ principal, params: { id }, query: { after, limit, ...period } }) {
      const extension_id = await findExtension(organizationOf(principal).id, id);
      const lines = await reader.listLines(extension_id, period, after, limit);
      const last = lines.length < limit ? undefined : lines.at(-1);
      return {
        items: lines.map(({ id: line, from_ms, to_ms, ...cost }) => ({
          id: String(line),
          from: toDateTime(from_ms),
          to: toDateTime(to_ms),
          ...cost,
        })),
        totals: [...(await reader.sumLines(extension_id, period))],
        ...(last === undefined ? {} : { next: String(last.id) }),
      };
    },
    async listCostTotals({ query }) {
      const known = await fetches.list();
      return {
        totals: [...(await reader.sum(query))],
        held: [...(await reader.sumHeld(query))],
        fetches: known
          .filter(({ provider }) => query.provider === undefined || provider === query.provider)
          .map(({ provider, last_success_at, next_at, failures, last_error }) => ({
            provider,
            last_success_at: last_success_at === null ? null : toDateTime(last_success_at),
            next_at: toDateTime(next_at),
            failures,
            last_error,
          })),
      };
    },
    exportCostTotals: async ({ query }) => toCostCsv(await reader.sum(query)),
  };
}
