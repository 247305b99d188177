// The connector that a call names, with what is known of its provider.
import { RemoraError } from '../../core/remora-error.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorRow, ConnectorStore } from '../connectors/records/connector-store.ts';

export interface NamedConnector {
  readonly row: ConnectorRow;
  readonly entry: CatalogueEntry;
}

/** Throws `unknown_connector`, with the same message whether the connector does not exist or is another organization's or provider's. */
export async function findConnector(
  deps: { readonly connectors: Pick<ConnectorStore, 'find'>; readonly catalogue: Catalogue },
  organization_id: string,
  provider: string,
  id: string,
): Promise<NamedConnector> {
  const row = await deps.connectors.find(organization_id, id);
  const entry = row === undefined ? undefined : deps.catalogue.find(row.provider);
  if (row === undefined || entry === undefined || row.provider !== provider) {
    throw new RemoraError('unknown_connector', 'there is no such connector; GET /v1/gateway/list names yours');
  }
  return { row, entry };
}
