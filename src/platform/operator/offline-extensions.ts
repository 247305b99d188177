// The extensions of a platform that does not run: they are shown, and go with their organization. Their providers are asked once it runs.
import type { extensionOperations } from '../../contract/extension-records.ts';
import type { Clock } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { AppSecrets } from '../app-secrets/app-secrets.ts';
import { createExtensionProviders } from '../extension-providers/extension-providers.ts';
import { createExtensionHandlers } from '../extensions/extension-handlers.ts';
import { createExtensionSecretKeeper } from '../extensions/extension-secrets.ts';
import { createExtensionService, type ExtensionService } from '../extensions/extension-service.ts';
import { createExtensionStore } from '../extensions/extension-store.ts';
import { createWebhookStore } from '../extensions/webhooks/webhook-store.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';
import type { UserStore } from '../users/user-store.ts';
import type { Vault } from '../vault/vault.ts';

export interface OfflineExtensionDeps {
  readonly storage: Storage;
  readonly vault: Pick<Vault, 'open' | 'close'>;
  readonly secrets: AppSecrets;
  readonly users: UserStore;
  readonly clock: Clock;
}

export function toOfflineExtensionService(deps: Omit<OfflineExtensionDeps, 'users'>): ExtensionService {
  const { storage, vault, secrets: appSecrets, clock } = deps;
  const secrets = createExtensionSecretKeeper({ vault, appSecrets });
  return createExtensionService({ storage, secrets, hasPrivateNetworks: false, look: () => undefined, clock });
}

/** What asks a provider throws `invalid_state`. */
export function toOfflineExtensionHandlers(
  deps: OfflineExtensionDeps & { readonly service: ExtensionService },
): Handlers<typeof extensionOperations, Principal> {
  const { storage, vault, users, service, clock } = deps;
  const refuse = async () => {
    throw new RemoraError('invalid_state', 'only a platform that runs asks providers; start it');
  };
  return createExtensionHandlers({
    service: { ...service, create: refuse, update: refuse, retry: refuse, delete: refuse, refresh: refuse },
    store: createExtensionStore(storage),
    providers: createExtensionProviders({ sql: storage, vault, clock }),
    users,
    webhooks: createWebhookStore(storage),
    worker: { run: async () => undefined },
    // What runs the machines is not known here.
    addressOf: () => undefined,
    answerWithin_ms: 0,
  });
}
