// Where the credential of a connector belongs in the vault. Pure.
import type { SecretPlace } from '../../vault/secret-place.ts';
import type { ConnectorRow } from './connector-store.ts';

export type PlacedConnector = Pick<
  ConnectorRow,
  'id' | 'organization_id' | 'provider' | 'connection_type' | 'base_api_url' | 'access_policy'
>;

/** The place names where the credential is sent and who may send it: a row that was changed without the vault key opens nothing. */
export function toConnectorPlace(row: PlacedConnector): SecretPlace {
  const { id, organization_id, provider, connection_type, base_api_url, access_policy } = row;
  const bound = [provider, connection_type, base_api_url, access_policy];
  return { kind: 'connector', organization_id, id, bound };
}
