// Every kind of secret that the platform stores for long: what a rotation of vault keys walks, and what a start needs the keys of.
// Authorizations that were begun are none of them: they end within minutes, and with their key.
import { createConnectorSecrets } from './connectors/records/connector-secrets.ts';
import type { ConnectorStore } from './connectors/records/connector-store.ts';
import type { SecretSource } from './vault/secret-source.ts';

export function toSecretSources({ connectors }: { readonly connectors: ConnectorStore }): readonly SecretSource[] {
  return [createConnectorSecrets(connectors)];
}
