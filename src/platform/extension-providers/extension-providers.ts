// The registry of extension providers, as the other parts of the platform ask it.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { ExtensionSecretKind } from '../../contract/extension-providers.ts';
import type { Clock } from '../../core/clock.ts';
import type { Secret } from '../../core/secret.ts';
import type { Sql } from '../storage/storage.ts';
import type { Vault } from '../vault/vault.ts';
import type { ExtensionProvider } from './extension-provider.ts';
import { createExtensionProviderStore } from './extension-provider-store.ts';
import { createProviderSecretStore, toProviderSecretPlace } from './provider-secret-store.ts';

export interface ExtensionProviders {
  find(name: string): Promise<ExtensionProvider | undefined>;
  findByClientId(client_id: string): Promise<ExtensionProvider | undefined>;
  /** The providers that run as this app, by name. */
  listOfApp(app: string): Promise<readonly ExtensionProvider[]>;
  /** Sorted by name. */
  list(): Promise<readonly ExtensionProvider[]>;
  /** Whether the secret is one of the provider's OAuth client. Compares in constant time. */
  checkClientSecret(provider: Pick<ExtensionProvider, 'name'>, given: Secret): Promise<boolean>;
  /** The secrets that are good now, the newest first: two while one is changed. Throws what `Vault.open` throws. */
  openSecrets(
    provider: Pick<ExtensionProvider, 'name'>,
    kind: ExtensionSecretKind,
  ): Promise<readonly [Secret, ...Secret[]]>;
}

export interface ExtensionProvidersDeps {
  readonly sql: Sql;
  readonly vault: Pick<Vault, 'open'>;
  readonly clock: Clock;
}

export function createExtensionProviders({ sql, vault, clock }: ExtensionProvidersDeps): ExtensionProviders {
  const store = createExtensionProviderStore(sql);
  const secrets = createProviderSecretStore(sql);

  async function openSecrets({ name }: Pick<ExtensionProvider, 'name'>, kind: ExtensionSecretKind) {
    const rows = await secrets.list(name, kind, clock.wall_ms());
    const [first, ...others] = rows.map((row) => vault.open(toProviderSecretPlace(row), row.closed));
    if (first === undefined) throw new Error(`the extension provider ${name} has no secret of the kind ${kind}`);
    return [first, ...others] as const satisfies readonly Secret[];
  }

  return {
    find: store.find,
    findByClientId: store.findByClientId,
    listOfApp: store.listOfApp,
    list: store.list,
    async checkClientSecret(provider, given) {
      const digest = toDigest(given);
      const known = await openSecrets(provider, 'client');
      // Every one is compared, so that the time tells nothing.
      return known.map((secret) => timingSafeEqual(toDigest(secret), digest)).includes(true);
    },
    openSecrets: async (provider, kind) => [...(await openSecrets(provider, kind))],
  };
}

function toDigest(secret: Secret): Buffer {
  return createHash('sha256').update(secret.reveal(), 'utf8').digest();
}
