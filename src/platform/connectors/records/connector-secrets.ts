// The credentials of connectors as a source of secrets for the vault.
import type { SecretSource, StoredSecret } from '../../vault/secret-source.ts';
import { toConnectorPlace } from './connector-place.ts';
import type { ConnectorRow, ConnectorStore } from './connector-store.ts';

/** The name of the source. */
export const CONNECTOR_SECRETS = 'connectors';

type SecretsOfStore = Pick<ConnectorStore, 'listKeyIds' | 'listClosedOtherwise' | 'setDataKey'>;

export function createConnectorSecrets(store: SecretsOfStore): SecretSource {
  return {
    name: CONNECTOR_SECRETS,
    listKeyIds: () => store.listKeyIds(),
    listClosedOtherwise: async (key_id, after, limit) =>
      (await store.listClosedOtherwise(key_id, after, limit)).map(toStoredSecret),
    setDataKey: ({ place, closed }, next) => store.setDataKey({ id: place.id, closed }, next),
  };
}

export function toStoredSecret(row: ConnectorRow): StoredSecret {
  return { place: toConnectorPlace(row), closed: row.closed };
}
