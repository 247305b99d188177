// The connector that a call names, with what is known of its provider.
import { RemoraError } from '../../core/remora-error.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import type { CatalogueEntry } from '../catalogue/catalogue-entry.ts';
import type { ConnectorRow } from '../connectors/records/connector-store.ts';

export interface NamedConnector {
  readonly row: ConnectorRow;
  readonly entry: CatalogueEntry;
}

export interface FindConnectorDeps {
  readonly connectors: {
    readonly find: (organization_id: string, id: string) => ConnectorRow | Promise<ConnectorRow | undefined>;
  };
  readonly catalogue: Catalogue;
}

/**
 * Comes at once where the connector does. Throws or rejects with `unknown_connector`, with the same message whether the connector does not exist or
 * is another organization's or provider's.
 */
export function findConnector(
  { connectors, catalogue }: FindConnectorDeps,
  organization_id: string,
  provider: string,
  id: string,
): NamedConnector | Promise<NamedConnector> {
  const toNamed = (row: ConnectorRow | undefined) => {
    const entry = row === undefined ? undefined : catalogue.find(row.provider);
    if (row === undefined || entry === undefined || row.provider !== provider) {
      throw new RemoraError('unknown_connector', 'there is no such connector; GET /v1/gateway/list names yours');
    }
    return { row, entry };
  };
  const found = connectors.find(organization_id, id);
  return found instanceof Promise ? found.then(toNamed) : toNamed(found);
}
