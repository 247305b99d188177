// The operations that administer apps, their secrets, tokens, organizations and hosts, wired.
import type { appSecretOperations } from '../../contract/app-secrets.ts';
import type { appOperations } from '../../contract/apps.ts';
import type { extensionCostOperations } from '../../contract/extension-cost-totals.ts';
import type { extensionProviderOperations } from '../../contract/extension-providers.ts';
import type { hostOperations } from '../../contract/hosts.ts';
import type { organizationOperations } from '../../contract/organizations.ts';
import type { tokenOperations } from '../../contract/tokens.ts';
import type { userOperations } from '../../contract/users.ts';
import type { Clock } from '../../core/clock.ts';
import type { Handlers } from '../../http/handler.ts';
import { createAppSecretHandlers } from '../app-secrets/app-secret-handlers.ts';
import type { AppSecrets } from '../app-secrets/app-secrets.ts';
import { createAppHandlers } from '../apps/app-handlers.ts';
import type { AppService } from '../apps/app-service.ts';
import { createOrganization } from '../apps/create-organization.ts';
import type { ConnectorService } from '../connectors/connector-service.ts';
import { createExtensionProviderHandlers } from '../extension-providers/extension-provider-handlers.ts';
import { createExtensionProviders } from '../extension-providers/extension-providers.ts';
import { createProviderRegistration } from '../extension-providers/provider-registration.ts';
import { createCostHandlers } from '../extensions/costs/cost-handlers.ts';
import type { ExtensionService } from '../extensions/extension-service.ts';
import type { HostSelf } from '../hosts/host-store.ts';
import { readNotices } from '../machine-notices/read-notices.ts';
import type { VolumeService } from '../machines-api/volume-service.ts';
import type { OrganizationStore } from '../organizations/organization-store.ts';
import type { SpriteService } from '../sprites/sprite-service.ts';
import type { SpriteStore } from '../sprites/sprite-store.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';
import { createTokenHandlers } from '../tokens/token-handlers.ts';
import type { TokenStore } from '../tokens/token-store.ts';
import { createUserHandlers } from '../users/user-handlers.ts';
import type { UserService } from '../users/user-service.ts';
import type { UserStore } from '../users/user-store.ts';
import type { Vault } from '../vault/vault.ts';
import { deleteOrganization } from './delete-organization.ts';
import { createHostHandlers } from './host-handlers.ts';
import { createOrganizationHandlers } from './organization-handlers.ts';

export interface AdministrationDeps {
  readonly storage: Storage;
  readonly organizations: OrganizationStore;
  readonly apps: AppService;
  readonly secrets: AppSecrets;
  readonly sprites: SpriteStore;
  readonly spriteService: SpriteService;
  readonly connectorService: ConnectorService;
  readonly volumeService: VolumeService;
  readonly extensions: Pick<ExtensionService, 'deleteAll' | 'hasSome' | 'renamed'>;
  readonly tokens: TokenStore;
  readonly users: UserStore;
  readonly userService: UserService;
  readonly vault: Pick<Vault, 'open' | 'close'>;
  readonly clock: Clock;
  /** Whether several platform processes may share the database. */
  readonly isShared: boolean;
  /** This platform process; undefined where the platform does not run. */
  readonly self?: HostSelf | undefined;
  /** Looks after the machines of this host at once. */
  readonly upkeep?: (() => Promise<void>) | undefined;
}

type Rows = typeof appOperations &
  typeof appSecretOperations &
  typeof tokenOperations &
  typeof organizationOperations &
  typeof userOperations &
  typeof hostOperations &
  typeof extensionProviderOperations &
  typeof extensionCostOperations;

export function createAdministration(deps: AdministrationDeps): Handlers<Rows, Principal> {
  return {
    ...createAppHandlers(deps.apps),
    ...createAppSecretHandlers(deps),
    ...createTokenHandlers(deps),
    ...createOrganizationHandlers({
      organizations: deps.organizations,
      createOrganization: (slug) => createOrganization(deps.storage, slug, deps.clock.wall_ms(), 'refuse'),
      setDisplayName: (id, name) => deps.extensions.renamed(id, name),
      deleteOrganization: (organization, force) => deleteOrganization(deps, organization, force),
    }),
    ...createUserHandlers(deps),
    ...createHostHandlers(deps),
    ...createCostHandlers(deps.storage),
    ...createExtensionProviderHandlers({
      providers: createExtensionProviders({ sql: deps.storage, vault: deps.vault, clock: deps.clock }),
      registration: createProviderRegistration(deps),
      readNotices: (provider) => readNotices(deps.storage, provider, deps.clock.wall_ms()),
    }),
  };
}
