// The control plane, wired: opens its directory, its stores and its listener, in this order, and closes them the other way
// round. Nothing of a machine is left running when it is closed.
import { join } from 'node:path';
import { platformOperations } from '../contract/platform-operations.ts';
import { type Clock, systemClock } from '../core/clock.ts';
import type { Secret } from '../core/secret.ts';
import { createEdge } from '../http/edge.ts';
import { listenOnTcp } from '../http/listen.ts';
import { toOpenApi } from '../http/openapi.ts';
import { openLock } from '../sqlite/lock.ts';
import { createAdmin, type PlatformAdmin } from './admin.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import type { NewCatalogueEntry } from './catalogue/catalogue-entry.ts';
import { createConnectorStore } from './connectors/connector-store.ts';
import { createConnectors } from './connectors/connectors.ts';
import { createGateway } from './gateway/gateway.ts';
import type { GatewayLimits } from './gateway/gateway-limits.ts';
import { createLifeStore } from './lives/life-store.ts';
import { createLives } from './lives/lives.ts';
import { createReportHandlers } from './lives/report-handlers.ts';
import { openHostId } from './machines/host-id.ts';
import { createMachineHandlers } from './machines/machine-handlers.ts';
import { createMachineService } from './machines/machine-service.ts';
import { createMachineStore } from './machines/machine-store.ts';
import { createProcessDriver } from './machines/process-driver.ts';
import type { AgentCommand } from './machines/spawn-machine.ts';
import { createNoticeHandlers } from './notices/notice-handlers.ts';
import { createNoticeStore } from './notices/notice-store.ts';
import type { OAuthClient } from './oauth/oauth-client.ts';
import { createCallWatch } from './operations/call-watch.ts';
import { guardStorage, rethrowStorage } from './operations/guard-storage.ts';
import { createPlatformMetrics } from './operations/platform-metrics.ts';
import { createOrganizationStore } from './organizations/organization-store.ts';
import { startSecondLook } from './second-look.ts';
import { createSpriteHandlers } from './sprites/sprite-handlers.ts';
import { SPRITE_URL } from './sprites/sprite-record.ts';
import { createSpriteService } from './sprites/sprite-service.ts';
import { createSpriteStore } from './sprites/sprite-store.ts';
import { openStorage } from './storage/open-storage.ts';
import { createAuthenticate } from './tokens/authenticate.ts';
import { type CallRateOptions, createCallRate } from './tokens/call-rate.ts';
import { createCallerStore } from './tokens/caller-store.ts';
import type { Principal } from './tokens/principal.ts';
import { createRecheck } from './tokens/recheck.ts';
import { createTokenStore } from './tokens/token-store.ts';
import type { Resolve } from './upstream/guarded-connector.ts';
import { forgetRunningKeys, VAULT_KEYS, writeRunningKeys } from './vault/running-keys.ts';
import { checkKeysInUse, createVault } from './vault/vault.ts';

export interface PlatformLog {
  info(fields: object, message: string): void;
  error(fields: object, message: string): void;
  debug(fields: object, message: string): void;
}

export interface PlatformOptions {
  /** Holds `platform.db` and a directory for each machine. One platform at a time. */
  readonly dir: string;
  /** `postgres://…`, for several platforms on one database; `platform.db` when absent. */
  readonly database?: Secret;
  /** 32 bytes each, as 64 hex digits or base64. The first closes new credentials, the others only open old ones. */
  readonly keys: readonly Secret[];
  /** Port 0 takes a free one. */
  readonly listen: { readonly host: string; readonly port: number };
  /** Where callers reach this platform; from the listener when absent. */
  readonly publicUrl?: string;
  /** What a machine runs. Without it no machine starts. */
  readonly agentCommand?: AgentCommand;
  /** The address of the database node, handed to machines. */
  readonly nodeUrl?: string;
  /** Providers besides the built-in ones, or in their place. */
  readonly catalogue?: readonly NewCatalogueEntry[];
  /** From the answer to a suspend to the freeze. */
  readonly freezeDelay_ms?: number;
  /** Over how long resumed machines are to spread their reconnects, when there are several; 0 when absent. */
  readonly reconnectSpread_ms?: number;
  /** How often one token may call, besides calls through the gateway; 100 a second when absent. */
  readonly callRate?: Omit<CallRateOptions, 'now_ms'>;
  /** How long a WebSocket through the gateway may be without a byte either way; ten minutes when absent, 0 = for ever. */
  readonly websocketIdle_ms?: number;
  /** How many calls each connector and each sprite may make through the gateway. */
  readonly gatewayLimits?: GatewayLimits;
  /** This platform as a client of the providers of the catalogue. */
  readonly oauthClients?: readonly OAuthClient[];
  /** By provider: with which the platform makes keys there. */
  readonly managementKeys?: ReadonlyMap<string, Secret>;
  /** Ask a provider about an API key before it is stored; off when absent. */
  readonly verifyKeys?: boolean;
  /** Finds the addresses of the hosts that users give; the system does when absent. */
  readonly resolve?: Resolve;
  /** `{sprite}` and `{organization}` stand for the names. */
  readonly spriteUrl?: string;
  /** Shown as the `environment_version` of every sprite: the version of what machines boot from. */
  readonly environmentVersion?: string;
  /** Checks every JSON answer against its row, for tests. */
  readonly checkAnswers?: boolean;
  readonly clock?: Clock;
  readonly version: string;
  readonly log: PlatformLog;
}

export interface Platform extends AsyncDisposable {
  /** Without a slash at the end. */
  readonly url: string;
  readonly admin: PlatformAdmin;
}

const FREEZE_DELAY_MS = 300;
/** On SQLite there is one platform process, whichever directory its file has moved to. */
const ONLY_HOST = 'local';
/** For one token, besides calls through the gateway. */
const CALL_RATE = { burst: 500, perSecond: 100 };
const DRAIN_MS = 2_000;
/** How long a call may go on with a token that has ended. */
const SECOND_LOOK_MS = 2_000;

/**
 * Throws `not_configured` without a vault key, with one that cannot be read, or when stored credentials need another one;
 * `conflict` when another platform uses the directory; whatever SQLite says of a database that is damaged or cannot be
 * written: it is never replaced.
 */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { log, clock = systemClock } = options;
  const { spriteUrl: urlTemplate = SPRITE_URL, environmentVersion: environment_version = null } = options;
  const around = { urlTemplate, environment_version };
  await using stack = new AsyncDisposableStack();
  const vault = createVault(options.keys);
  const catalogue = createCatalogue(options.catalogue);
  stack.use(openLock(join(options.dir, 'platform.lock')));
  const storage = stack.use(await openStorage(options.dir, options.database));
  const host = options.database === undefined ? ONLY_HOST : openHostId(options.dir);

  const organizations = createOrganizationStore(storage);
  const sprites = createSpriteStore(storage);
  const tokens = createTokenStore(storage);
  const callers = createCallerStore(storage);
  const machines = createMachineStore(storage);
  const connectors = createConnectorStore(storage);
  const notices = createNoticeStore(storage);
  const lifeStore = createLifeStore(storage);
  const lives = createLives(lifeStore);
  await storage.exclusively(VAULT_KEYS, async () => {
    checkKeysInUse(vault, await connectors.listKeyIds());
    await writeRunningKeys(storage, host, vault.keyIds);
  });
  stack.defer(() => forgetRunningKeys(storage, host));
  const metrics = createPlatformMetrics(storage, options.version);
  const watch = createCallWatch(platformOperations, metrics, log);

  let url = '';
  let ownUrl = '';
  const platformUrl = () => url;
  const machinesDir = join(options.dir, 'machines');
  const driver = createProcessDriver({
    dir: machinesDir,
    command: options.agentCommand,
    platformUrl,
    machinesUrl: () => ownUrl,
    nodeUrl: options.nodeUrl,
    createToken: createMachineToken,
  });
  async function createMachineToken(machine_id: string): Promise<Secret> {
    const machine = await machines.find(machine_id);
    if (machine === undefined) throw new Error(`there is no machine ${machine_id}`);
    const { organization_id, sprite_id } = machine;
    return await storage.transaction(async (sql) => {
      const inside = createTokenStore(sql);
      await inside.revokeOfMachine(machine_id);
      return (await inside.create({ organization_id, sprite_id, machine_id }, clock.wall_ms())).text;
    });
  }

  const look = stack.use(startSecondLook(SECOND_LOOK_MS, log));
  const recheck = createRecheck({ callers, clock });
  const connecting = stack.use(
    createConnectors({
      storage,
      connectors,
      catalogue,
      vault,
      clock,
      platformUrl,
      oauthClients: options.oauthClients ?? [],
      managementKeys: options.managementKeys ?? new Map(),
      verifyKeys: options.verifyKeys ?? false,
      resolve: options.resolve,
      onRefresh: metrics.countRefresh,
      log,
    }),
  );
  const { service: connectorService, credentials, dispatcherFor } = connecting;
  const freezeDelay_ms = options.freezeDelay_ms ?? FREEZE_DELAY_MS;
  const machineService = createMachineService({
    storage,
    host,
    machines,
    sprites,
    driver,
    clock,
    freezeDelay_ms,
    log,
  });
  const spriteService = createSpriteService({ storage, sprites, machines, machineService, clock });

  const rate = createCallRate({ ...(options.callRate ?? CALL_RATE), now_ms: () => clock.mono_ms() });
  const authenticate = createAuthenticate({ callers, lives, clock, rate });
  const gateway = stack.use(
    createGateway({
      storage,
      connectors,
      service: connectorService,
      sprites,
      onSpriteChange(listener) {
        spriteService.onChange(listener);
        look.onLook(listener);
      },
      catalogue,
      credentials,
      recheck,
      lives,
      ways: {
        oauth: new Set(options.oauthClients?.map(({ provider }) => provider)),
        provision: new Set(options.managementKeys?.keys()),
      },
      dispatcherFor,
      websocketIdle_ms: options.websocketIdle_ms,
      limits: options.gatewayLimits,
      clock,
      platformUrl,
      log,
    }),
  );
  const edge = createEdge<typeof platformOperations, Principal>({
    operations: platformOperations,
    handlers: guardStorage({
      health: () => ({ status: 'ok' }),
      metrics: () => metrics.toText(),
      openapi: () => toOpenApi(platformOperations, { title: 'Remora platform', version: options.version }),
      ...createSpriteHandlers({
        sprites,
        service: spriteService,
        pageKey: vault.derive('page tokens'),
        around,
      }),
      ...connecting.handlers,
      ...gateway.handlers,
      ...createMachineHandlers({ machines, service: machineService, log }),
      ...createReportHandlers({
        machines,
        lives,
        store: lifeStore,
        clock,
        reconnectSpread_ms: options.reconnectSpread_ms ?? 0,
        log,
      }),
      ...createNoticeHandlers({ notices, sprites: spriteService }),
    }),
    async authenticate(request, row) {
      watch.met(request, row);
      const principal = await authenticate(request, row).catch(rethrowStorage);
      watch.from(request, principal);
      return principal;
    },
    log,
    ...(options.checkAnswers === undefined ? {} : { checkAnswers: options.checkAnswers }),
  });
  stack.defer(() => edge.drain(DRAIN_MS));
  stack.use(machineService);
  await machineService.recover();
  const server = edge.createServer('tcp');
  watch.watch(server);
  const address = await listenOnTcp(server, options.listen.host, options.listen.port);
  ownUrl = toUrl(options.listen.host, address.port);
  url = options.publicUrl ?? ownUrl;

  const admin = createAdmin({
    organizations,
    tokens,
    sprites,
    machines,
    spriteService,
    connectorService,
    machineService,
    catalogue,
    usage: gateway.usage,
    clock,
    machinesDir,
    around,
    platformUrl,
  });
  const owned = stack.move();
  return { url, admin, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A platform that listens everywhere is reached on this machine through the loopback address. */
function toUrl(host: string, port: number): string {
  const reachable = host === '0.0.0.0' || host === '' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${reachable.includes(':') ? `[${reachable}]` : reachable}:${port}`;
}
