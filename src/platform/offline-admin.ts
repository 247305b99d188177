// What an operator does on the database of a platform, whether it runs or not: records, tokens, keys. Machines are the running
// platform's to move.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../core/clock.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Secret } from '../core/secret.ts';
import { openLock } from '../sqlite/lock.ts';
import { openDatabase } from '../sqlite/open.ts';
import { createAdmin, type PlatformAdmin } from './admin.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import type { NewCatalogueEntry } from './catalogue/catalogue-entry.ts';
import { createConnectorStore } from './connectors/connector-store.ts';
import { createConnectors } from './connectors/connectors.ts';
import { createMachineStore } from './machines/machine-store.ts';
import { createOrganizationStore } from './organizations/organization-store.ts';
import { platformMigrations } from './schema.ts';
import { SPRITE_URL } from './sprites/sprite-record.ts';
import { createSpriteService } from './sprites/sprite-service.ts';
import { createSpriteStore } from './sprites/sprite-store.ts';
import { createTokenStore } from './tokens/token-store.ts';
import { type RotationReport, rotateKeys } from './vault/key-rotation.ts';
import { checkRunningPlatformHas } from './vault/running-keys.ts';
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
  rotateKeys(): RotationReport;
}

/** Throws `not_found` where there is no platform, and what `openDatabase` throws. */
export function openOfflineAdmin(options: OfflineAdminOptions): OfflineAdmin {
  const path = join(options.dir, 'platform.db');
  if (!existsSync(path)) {
    throw new RemoraError(
      'not_found',
      `there is no platform in ${options.dir}; start it once, or name another directory`,
    );
  }
  using stack = new DisposableStack();
  const { db } = openDatabase(path, { migrations: platformMigrations, onDamage: 'refuse' });
  stack.defer(() => void db.close());
  db.pragma('synchronous = FULL');
  db.pragma('secure_delete = ON');
  const clock = systemClock;
  const organizations = createOrganizationStore(db);
  const sprites = createSpriteStore(db);
  const machines = createMachineStore(db);
  const connectors = createConnectorStore(db);
  const catalogue = createCatalogue(options.catalogue);
  const platformUrl = () => options.platformUrl;

  function toConnecting() {
    return createConnectors({
      db,
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
    tokens: createTokenStore(db),
    sprites,
    machines,
    spriteService: createSpriteService({ db, sprites, machines, machineService: noMachines, clock }),
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
    rotateKeys() {
      const vault = createVault(options.keys);
      using _lock = openLockOrNothing(join(options.dir, 'platform.lock'));
      if (_lock === undefined) checkRunningPlatformHas(db, vault.currentKeyId);
      return rotateKeys(connectors, vault);
    },
    async [Symbol.asyncDispose]() {
      await connecting?.[Symbol.asyncDispose]();
      owned.dispose();
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
  suspend(): void {
    throw new RemoraError('invalid_state', 'the running platform moves machines; call it');
  },
};
