// What an operator does on the database of a platform, whether it runs or not: records, tokens, keys. Only a running platform moves
// machines.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import type { Log } from '../core/log.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { listenOnPath } from '../http/listen-on-path.ts';
import { openLock } from '../sqlite/lock.ts';
import { createAdmin, type PlatformAdmin } from './admin.ts';
import { createAppSecrets } from './app-secrets/app-secrets.ts';
import { createAppService } from './apps/app-service.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import type { NewCatalogueEntry } from './catalogue/catalogue-entry.ts';
import { createChanges } from './changes.ts';
import { createConnectors } from './connectors/connectors.ts';
import { bindOldSeals } from './connectors/records/bound-seals.ts';
import { CONNECTOR_SECRETS } from './connectors/records/connector-secrets.ts';
import { type ConnectorStore, createConnectorStore } from './connectors/records/connector-store.ts';
import { createProviderRegistration } from './extension-providers/provider-registration.ts';
import { createUsageStore } from './gateway/usage/usage-store.ts';
import { createHostStore, type HostStore, type PlatformHost } from './hosts/host-store.ts';
import { createOfflineMachineService } from './machines/moves/offline-machine-service.ts';
import { createMachineStore } from './machines/records/machine-store.ts';
import { createVolumeStore } from './machines/records/volume-store.ts';
import { createOfflineVolumeService } from './machines-api/offline-volume-service.ts';
import { openUsers } from './open-users.ts';
import { createOfflineEdge } from './operator/offline-edge.ts';
import { OPERATOR_LISTENER } from './operator/operator-socket.ts';
import { createOrganizationStore } from './organizations/organization-store.ts';
import { toSecretSources } from './secret-sources.ts';
import { SPRITE_URL } from './sprites/sprite-record.ts';
import { createSpriteService } from './sprites/sprite-service.ts';
import { createSpriteStore } from './sprites/sprite-store.ts';
import { openStorage } from './storage/open-storage.ts';
import { SQLITE_FILE } from './storage/sqlite-storage.ts';
import type { Storage } from './storage/storage.ts';
import { createTokenStore } from './tokens/token-store.ts';
import { type RotationResult, rotateKeys } from './vault/key-rotation.ts';
import { createLazyVault } from './vault/lazy-vault.ts';
import { checkRunningPlatformsHave, VAULT_KEYS } from './vault/running-keys.ts';
import { createVault, type Vault } from './vault/vault.ts';

export interface OfflineAdminOptions {
  readonly dir: string;
  /** See `PlatformOptions.database`. */
  readonly database?: Secret;
  /** The vault keys; needed for connectors and for a rotation only. */
  readonly keys: readonly Secret[];
  readonly catalogue?: readonly NewCatalogueEntry[];
  readonly platformUrl: string;
  readonly log: Log;
}

export type RecordAdmin = Omit<
  PlatformAdmin,
  'readMachine' | 'startMachine' | 'suspendMachine' | 'stopMachine' | 'destroyMachine'
>;

export interface OfflineAdmin extends AsyncDisposable {
  readonly admin: RecordAdmin;
  /** Serves the operations of the operator on a Unix socket, until the result is disposed of. */
  serveOn(path: string): Promise<AsyncDisposable>;
  /** Throws `conflict` when a platform runs that does not have the first key. */
  rotateKeys(): Promise<RotationResult>;
  /** `listHosts` and `forgetHost` throw `invalid_state` where there can be only one platform process. */
  listHosts(): Promise<readonly PlatformHost[]>;
  /** Forgets a platform process that is gone for good. Throws `not_found`. */
  forgetHost(host: string): Promise<void>;
}

/** Throws `not_found` where there is no platform, and what `openStorage` throws. */
export async function openOfflineAdmin(options: OfflineAdminOptions): Promise<OfflineAdmin> {
  const { database } = options;
  if (database === undefined) checkIsThere(options.dir);
  await using stack = new AsyncDisposableStack();
  const storage = stack.use(await openStorage(options.dir, database));
  const clock = systemClock;
  const organizations = createOrganizationStore(storage);
  const sprites = createSpriteStore(storage);
  const tokens = createTokenStore(storage);
  const machines = createMachineStore(storage);
  const machineService = createOfflineMachineService();
  const changes = createChanges();
  const spriteService = createSpriteService({ storage, sprites, machines, machineService, changes, clock });
  const usage = createUsageStore(storage);
  const machinesDir = join(options.dir, 'machines');
  const around = { urlTemplate: SPRITE_URL, environment_version: null };
  const connectors = createConnectorStore(storage);
  const catalogue = createCatalogue(options.catalogue);
  const userParts = openUsers({ storage, organizations, clock });
  const platformUrl = () => options.platformUrl;
  const vault = createLazyVault(options.keys);
  const secrets = createAppSecrets({ storage, vault, changes, clock });

  function toConnecting() {
    return createConnectors({
      storage,
      connectors,
      catalogue,
      vault,
      clock,
      changes,
      platformUrl,
      oauthClients: [],
      managementKeys: new Map(),
      verifyKeys: false,
      onRefresh: () => undefined,
      log: options.log,
    });
  }
  let connecting: ReturnType<typeof toConnecting> | undefined;
  const openConnecting = () => (connecting ??= toConnecting());

  const admin = createAdmin({
    storage,
    organizations,
    tokens,
    ...userParts,
    sprites,
    machines,
    spriteService,
    get connectorService() {
      return openConnecting().service;
    },
    machineService,
    registration: createProviderRegistration({ storage, vault, clock }),
    catalogue,
    usage,
    clock,
    machinesDir,
    around,
    platformUrl,
  });
  const hosts = () => toHostStore(storage, database !== undefined);
  const owned = stack.move();
  return {
    admin,
    async serveOn(path) {
      const edge = createOfflineEdge({
        storage,
        organizations,
        apps: createAppService({ storage, clock }),
        secrets,
        sprites,
        tokens,
        ...userParts,
        machines,
        machineService,
        spriteService,
        volumeService: createOfflineVolumeService(createVolumeStore(storage)),
        connecting: openConnecting(),
        vault,
        usage,
        around,
        clock,
        isShared: database !== undefined,
        machinesDir,
        log: options.log,
      });
      const file = await listenOnPath(edge.createServer(OPERATOR_LISTENER), { path, mode: 0o600 });
      return {
        async [Symbol.asyncDispose]() {
          await edge[Symbol.asyncDispose]();
          file[Symbol.dispose]();
        },
      };
    },
    async rotateKeys() {
      const vault = createVault(options.keys);
      using _lock = database === undefined ? openLockOrNothing(join(options.dir, 'platform.lock')) : undefined;
      return await storage.exclusively(VAULT_KEYS, async () => {
        if (_lock === undefined) await checkRunningPlatformsHave(storage, vault.currentKeyId);
        return await rotateEverything(options.dir, storage, connectors, vault);
      });
    },
    listHosts: async () => await hosts().list(),
    async forgetHost(host) {
      const known = await hosts().list();
      if (!known.some((each) => each.host === host)) throw new RemoraError('not_found', `there is no host ${host}`);
      await hosts().forget(host, Date.now());
    },
    async [Symbol.asyncDispose]() {
      await connecting?.[Symbol.asyncDispose]();
      await owned.disposeAsync();
    },
  };
}

/** Throws `invalid_state` where there can be only one platform process. */
function toHostStore(storage: Storage, isShared: boolean): HostStore {
  if (isShared) return createHostStore(storage);
  throw new RemoraError('invalid_state', 'a platform on SQLite is one process; there are no hosts to tell apart');
}

function checkIsThere(dir: string): void {
  if (existsSync(join(dir, SQLITE_FILE))) return;
  throw new RemoraError('not_found', `there is no platform in ${dir}; start it once, or name another directory`);
}

/** Rotates every source. What has a seal of an earlier version and stays closed is named as unreadable too, each once. */
async function rotateEverything(
  dir: string,
  storage: Storage,
  connectors: ConnectorStore,
  vault: Vault,
): Promise<RotationResult> {
  const old = await bindOldSeals(dir, connectors, vault);
  const { rotated, unreadable } = await rotateKeys(toSecretSources({ storage, connectors }), vault);
  const isNamed = (id: string) => unreadable.some((each) => each.source === CONNECTOR_SECRETS && each.id === id);
  const ids = new Set([...old.unreadable, ...old.refused].filter((id) => !isNamed(id)));
  return { rotated, unreadable: [...unreadable, ...[...ids].map((id) => ({ source: CONNECTOR_SECRETS, id }))] };
}

/** Locks the directory, so that no platform starts meanwhile with other keys; undefined where one runs. */
function openLockOrNothing(path: string): Disposable | undefined {
  try {
    return openLock(path);
  } catch (error) {
    if (error instanceof RemoraError && error.code === 'conflict') return undefined;
    throw error;
  }
}
