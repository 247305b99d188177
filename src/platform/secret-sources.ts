// Lists every kind of secret that the platform keeps for long: a rotation of vault keys goes through all of them, and a start needs
// the keys of all of them. OAuth authorizations in progress are not among them: they expire within minutes, and are deleted when the
// vault key that closed them is not given any more.
import { createAppSecretSource } from './app-secrets/app-secret-store.ts';
import { createConnectorSecrets } from './connectors/records/connector-secrets.ts';
import type { ConnectorStore } from './connectors/records/connector-store.ts';
import { createProviderSecrets } from './extension-providers/provider-secret-store.ts';
import { createExtensionSecrets } from './extensions/extension-config.ts';
import type { Sql } from './storage/storage.ts';
import type { SecretSource } from './vault/secret-source.ts';

export interface SecretSourcesDeps {
  readonly storage: Sql;
  readonly connectors: ConnectorStore;
}

export function toSecretSources({ storage, connectors }: SecretSourcesDeps): readonly SecretSource[] {
  return [
    createConnectorSecrets(connectors),
    createProviderSecrets(storage),
    createExtensionSecrets(storage),
    createAppSecretSource(storage),
  ];
}
