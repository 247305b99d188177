// Where the private addresses of extensions lead: to the apps that their providers have named.
import { toPrivateAddress } from '../../core/private-address.ts';
import type { Sql } from '../storage/storage.ts';

export interface PrivateTarget {
  /** Whose machines reach it. */
  readonly organization_id: string;
  readonly address: string;
  readonly app: string;
}

const MOST = 10_000;

/** An app that is no longer that of the provider’s organization is left out: nobody has named the one that has it now. */
export async function listPrivateTargets(sql: Pick<Sql, 'all'>): Promise<readonly PrivateTarget[]> {
  const text = `SELECT e.id, e.organization_id, e.platform_app_name AS app FROM extensions e
    JOIN extension_providers p ON p.name = e.provider
    JOIN apps own ON own.name = p.app
    JOIN apps a ON a.name = e.platform_app_name AND a.organization_id = own.organization_id
    WHERE e.state NOT IN ('deleting', 'deleted') ORDER BY e.id LIMIT ${MOST}`;
  const rows = await sql.all<{ readonly id: string; readonly organization_id: string; readonly app: string }>(text);
  return rows.map(({ id, organization_id, app }) => ({
    organization_id,
    address: toPrivateAddress(organization_id, 'extension', id),
    app,
  }));
}
