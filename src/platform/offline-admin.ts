// What an operator does on the database of a platform, whether it runs or not: records, tokens, keys. Machines are the running
// platform's to move.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { openLock } from '../sqlite/lock.ts';
import { createAdmin, type PlatformAdmin } from './admin.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import type { NewCatalogueEntry } from './catalogue/catalogue-entry.ts';
import { createConnectorStore } from './connectors/connector-store.ts';
import { createConnectors } from './connectors/connectors.ts';
import { createMachineStore } from './machines/machine-store.ts';
import { createOrganizationStore } from './organizations/organization-store.ts';
import { SPRITE_URL } from './sprites/sprite-record.ts';
import { createSpriteService } from './sprites/sprite-service.ts';
import { createSpriteStore } from './sprites/sprite-store.ts';
import { openSqliteStorage, SQLITE_FILE } from './storage/sqlite-storage.ts';
import { createTokenStore } from './tokens/token-store.ts';
import { type RotationReport, rotateKeys } from './vault/key-rotation.ts';
import { checkRunningPlatformsHave } from './vault/running-keys.ts';
import { createVault } from './vault/vault.ts';

export interface OfflineAdminOptions {
  readonly dir: string;
  /** Needed for connectors and for a rotation only. */
  readonly keys: readonly Secret[];
  readonly catalogue?: readonly NewCatalogueEntry[];
  readonly platformUrl: string;
  readonly log: { info(fields: object, message: string): void; error(fields: object, message: string): void };
}

export type RecordAdmin = Omit<
  PlatformAdmin,
  'readMachine' | 'startMachine' | 'suspendMachine' | 'stopMachine' | 'destroyMachine'
>;

export interface OfflineAdmin extends AsyncDisposable {
  readonly admin: RecordAdmin;
  /** Throws `conflict` when a platform runs that does not have the first key. */
  rotateKeys(): Promise<RotationReport>;
}

/** Throws `not_found` where there is no platform, and what `openSqliteStorage` throws. */
export async function openOfflineAdmin(options: OfflineAdminOptions): Promise<OfflineAdmin> {
  if (!existsSync(join(options.dir, SQLITE_FILE))) {
    throw new RemoraError(
      'not_found',
      `there is no platform in ${options.dir}; start it once, or name another directory`,
    );
  }
  await using stack = new AsyncDisposableStack();
  const storage = stack.use(openSqliteStorage(options.dir));
  const clock = systemClock;
  const organizations = createOrganizationStore(storage);
  const sprites = createSpriteStore(storage);
  const machines = createMachineStore(storage);
  const connectors = createConnectorStore(storage);
  const catalogue = createCatalogue(options.catalogue);
  const platformUrl = () => options.platformUrl;

  function toConnecting() {
    return createConnectors({
      storage,
      connectors,
      catalogue,
      vault: createVault(options.keys),
      clock,
      platformUrl,
      oauthClients: [],
      managementKeys: new Map(),
      verifyKeys: false,
      onRefresh: () => undefined,
      log: options.log,
    });
  }
  let connecting: ReturnType<typeof toConnecting> | undefined;

  const admin = createAdmin({
    organizations,
    tokens: createTokenStore(storage),
    sprites,
    machines,
    spriteService: createSpriteService({ storage, sprites, machines, machineService: noMachines, clock }),
    get connectorService() {
      connecting ??= toConnecting();
      return connecting.service;
    },
    machineService: noMachines,
    catalogue,
    clock,
    machinesDir: join(options.dir, 'machines'),
    around: { urlTemplate: SPRITE_URL, environment_version: null },
    platformUrl,
  });
  const owned = stack.move();
  return {
    admin,
    async rotateKeys() {
      const vault = createVault(options.keys);
      using _lock = openLockOrNothing(join(options.dir, 'platform.lock'));
      if (_lock === undefined) await checkRunningPlatformsHave(storage, vault.currentKeyId);
      return await rotateKeys(connectors, vault);
    },
    async [Symbol.asyncDispose]() {
      await connecting?.[Symbol.asyncDispose]();
      await owned.disposeAsync();
    },
  };
}

/** Held where no platform runs, so that none starts in between with other keys; undefined where one does. */
function openLockOrNothing(path: string): Disposable | undefined {
  try {
    return openLock(path);
  } catch (error) {
    if (error instanceof RemoraError && error.code === 'conflict') return undefined;
    throw error;
  }
}

const refuse = () => Promise.reject(new RemoraError('invalid_state', 'the running platform moves machines; call it'));
const noMachines = {
  destroy: refuse,
  start: refuse,
  stop: refuse,
  suspend: refuse,
};
