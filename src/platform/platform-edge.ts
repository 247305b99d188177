// The operations of the platform at its listeners: who answers each, and who may ask.

import { platformOperations } from '../contract/platform-operations.ts';
import type { Clock } from '../core/clock.ts';
import { toLoggedPath } from '../core/gateway/capability-text.ts';
import { createEdge, type Edge } from '../http/edge.ts';
import type { EdgeHandlers } from '../http/handler.ts';
import { createAppSecrets } from './app-secrets/app-secrets.ts';
import { createMachineSecretHandlers } from './app-secrets/machine-secret-handlers.ts';
import { createAppService } from './apps/app-service.ts';
import type { Changes } from './changes.ts';
import { createChannelHandlers } from './channels/channel-handlers.ts';
import type { Channels } from './channels/channels.ts';
import { createSignOn } from './create-sign-on.ts';
import type { Fencing } from './fencing/fencing.ts';
import { defaultGatewayLimits } from './gateway/gateway-limits.ts';
import type { StartQueue } from './idle/start-queue.ts';
import { toConnectDeadline } from './machine-deadlines.ts';
import type { Place } from './machines/access/place.ts';
import { createEventFollowers } from './machines/event-followers.ts';
import { createHistoryHandlers } from './machines/machine-history-handlers.ts';
import { createResumeReportHandlers } from './machines/resume-report-handlers.ts';
import { createMachinesApi } from './machines-api/create-machines-api.ts';
import type { AccessLog } from './observability/access-log.ts';
import type { MetricsListener } from './observability/metrics-listener.ts';
import type { PlatformMetrics } from './observability/platform-metrics.ts';
import type { CostParts } from './open-costs.ts';
import type { ExtensionParts } from './open-extensions.ts';
import type { GatewayParts } from './open-gateway.ts';
import type { HostParts } from './open-hosts.ts';
import type { IdleParts } from './open-idle.ts';
import type { MachineParts } from './open-machines.ts';
import type { PolicyParts } from './open-policies.ts';
import type { Stores } from './open-stores.ts';
import type { UserParts } from './open-users.ts';
import { createAdministration } from './operator/administration.ts';
import { OPERATOR_LISTENER } from './operator/operator-socket.ts';
import type { PlatformOptions } from './platform-options.ts';
import { endPorts } from './port-notices/end-ports.ts';
import { openPortWatches } from './port-notices/open-port-watches.ts';
import { createNoticeHandlers } from './port-notices/port-notice-handlers.ts';
import type { PortWatches } from './port-notices/port-watches.ts';
import type { MachineWays } from './proxy/machine-ways.ts';
import { createPipeHandlers } from './proxy/pipe-handlers.ts';
import type { ProxyAddresses } from './proxy/proxy-addresses.ts';
import { readCallback } from './proxy/read-callback.ts';
import { createCheckpointHandlers } from './sprite-api/checkpoint-handlers.ts';
import { createNetworkPolicyHandlers } from './sprite-api/network-policy-handlers.ts';
import { createProgramPolicyHandlers } from './sprite-api/program-policy-handlers.ts';
import { createReachMachine, type ReachMachine } from './sprite-api/reach-machine.ts';
import { createSpriteApiHandlers } from './sprite-api/sprite-api-handlers.ts';
import { createSpriteMachineHandlers } from './sprite-api/sprite-machine-handlers.ts';
import { createUpgradeHandlers } from './sprite-api/upgrade-handlers.ts';
import { createSpriteHandlers } from './sprites/sprite-handlers.ts';
import type { SpriteSurroundings } from './sprites/sprite-record.ts';
import { createSpriteWatchHandlers } from './sprites/watch/sprite-watch-handlers.ts';
import { mapStorageFailure } from './storage/map-storage-failure.ts';
import type { Sql } from './storage/storage.ts';
import { createAuthenticate } from './tokens/authenticate.ts';
import { createOperatorAuthenticate } from './tokens/authenticate-operator.ts';
import { toCallRates } from './tokens/call-rate.ts';
import { createEndCallers } from './tokens/end-callers.ts';
import { createReadPassedPrincipal } from './tokens/passed-principal.ts';
import { isCaller, type Principal } from './tokens/principal.ts';
import { createRecheckToken } from './tokens/recheck-token.ts';
import { createMachineUsageHandlers } from './usage/machine-usage-handlers.ts';
import type { Vault } from './vault/vault.ts';

export interface PlatformEdgeDeps extends MachineParts, Pick<GatewayParts, 'connecting' | 'gateway'> {
  readonly options: PlatformOptions;
  readonly stores: Stores;
  readonly userParts: UserParts;
  readonly vault: Vault;
  readonly fencing: Fencing;
  readonly channels: Channels;
  readonly policies: PolicyParts;
  readonly extensions: ExtensionParts;
  readonly hostParts: HostParts;
  readonly idle: IdleParts;
  readonly ways: MachineWays;
  readonly costs: Pick<CostParts, 'handlers'>;
  readonly changes: Changes;
  readonly metrics: PlatformMetrics;
  readonly metricsListener: MetricsListener;
  /** Undefined without a proxy. */
  readonly proxyAddresses: ProxyAddresses | undefined;
  readonly accessLog: AccessLog;
  readonly around: SpriteSurroundings;
  readonly machinesDir: string;
  readonly platformUrl: () => string;
  readonly clock: Clock;
}

export function createPlatformEdge(deps: PlatformEdgeDeps): Edge<Principal> {
  const { options } = deps;
  const authenticate = createAuthenticate({
    callers: deps.stores.callers,
    fencing: deps.fencing,
    passed: createReadPassedPrincipal({
      callers: deps.stores.callers,
      organizations: deps.stores.organizations,
      take: deps.hostParts.passes.take,
      clock: deps.clock,
    }),
    clock: deps.clock,
    rates: toCallRates(options.callRate, (options.gatewayLimits ?? defaultGatewayLimits).sprite.perSecond),
    wrongTokens: options.wrongTokens,
  });
  const authenticateOperator = createOperatorAuthenticate(deps.stores.organizations);
  const edge = createEdge<typeof platformOperations, Principal>({
    operations: platformOperations,
    handlers: toHandlers(deps),
    authenticate(request, operation, listener) {
      deps.metricsListener.check(request, operation, listener);
      const whose = listener === OPERATOR_LISTENER ? authenticateOperator : authenticate;
      return whose(request, operation);
    },
    callerOf: (principal) => (isCaller(principal) ? principal.token.id : undefined),
    mapError: mapStorageFailure,
    onCall: deps.accessLog,
    loop: deps.metrics.loop,
    log: options.log,
    toLoggedPath,
    ...(options.checkAnswers === undefined ? {} : { checkAnswers: options.checkAnswers }),
  });
  const recheck = createRecheckToken({ callers: deps.stores.callers, clock: deps.clock });
  const endCallers = createEndCallers({ open: edge.staying, recheck });
  deps.changes.subscribe('revalidation_due', () => void endCallers());
  return edge;
}

function toOwnHandlers({ metrics, platformUrl, options }: PlatformEdgeDeps) {
  return {
    health: () => ({ status: 'ok' as const }),
    metrics: () => metrics.toText(),
    openapi: async () =>
      (await import('./observability/platform-openapi.ts')).toPlatformOpenApi(platformUrl(), options.version),
  };
}

function toPolicyHandlers(deps: PlatformEdgeDeps, reach: ReachMachine) {
  const { stores, spriteService, policies, hostParts } = deps;
  const reaching = { sprites: spriteService, reach, others: hostParts.others?.platforms };
  return {
    ...createProgramPolicyHandlers({
      ...reaching,
      policies: stores.programPolicies,
      delivery: policies.programPolicyDelivery,
    }),
    ...createNetworkPolicyHandlers({
      ...reaching,
      policies: stores.networkPolicies,
      delivery: policies.policyDelivery,
    }),
  };
}

function toHandlers(deps: PlatformEdgeDeps): EdgeHandlers<typeof platformOperations, Principal> {
  const { options, stores, fencing, machineService, spriteService, volumeService, machinesDir, clock } = deps;
  const { storage, host, isShared, organizations, sprites, tokens, machines, incarnations, notices } = stores;
  const { log } = options;
  const recheck = createRecheckToken({ callers: stores.callers, clock });
  const watches = openPortWatches({ notices, changes: deps.changes, isShared });
  const apps = createAppService({ storage, clock });
  const secrets = createAppSecrets({ storage, vault: deps.vault, changes: deps.changes, clock });
  const placed = toPlaced(deps.idle.startQueue);
  const reaching = {
    sprites: spriteService,
    machines,
    start: placed.start,
    arriving: deps.idle.arriving,
    channels: deps.channels,
    connect_ms: toConnectDeadline(options),
    others: deps.hostParts.others,
    host,
  };
  const reach = createReachMachine({ ...reaching, trustMachines: trustsMachines(options) });
  return {
    ...toOwnHandlers(deps),
    ...createSpriteHandlers({
      sprites,
      service: spriteService,
      creationLimit: options.creationLimit,
      pageKey: deps.vault.derive('page tokens'),
      around: deps.around,
    }),
    ...createSpriteMachineHandlers({
      sprites: spriteService,
      machines,
      machineService,
      place: placed.place,
      channels: deps.channels,
      host,
      clock,
    }),
    ...createSpriteWatchHandlers({
      sprites,
      recheck,
      changes: deps.changes,
      clock,
      log,
    }),
    ...deps.connecting.handlers,
    ...deps.gateway.handlers,
    ...deps.extensions.handlers,
    ...deps.costs.handlers,
    ...createMachinesApi({
      ...stores,
      apps,
      sprites: spriteService,
      volumeService,
      service: machineService,
      ...placed,
      explainIdle: deps.idle.explainIdle,
      rates: options.machineRates,
      defaults: deps.defaults,
      callOwner: deps.hostParts.others?.platforms.ask,
      clock,
      machinesDir,
      log,
    }),
    ...toHistoryHandlers(deps),
    ...createMachineSecretHandlers({ secrets, machines, incarnations, fencing }),
    ...createChannelHandlers({ channels: deps.channels, recheck, machines, incarnations, fencing, log }),
    ...createPipeHandlers({ ways: deps.ways, traffic: deps.idle.traffic, machines }),
    ...createSpriteApiHandlers({
      reach,
      others: deps.hostParts.others?.platforms,
      log,
    }),
    ...toPolicyHandlers(deps, reach),
    ...createUpgradeHandlers({
      // The agent carries it out on itself: nothing in the machine is reached.
      reach: createReachMachine({ ...reaching, trustMachines: true }),
      others: deps.hostParts.others?.platforms,
      records: deps.hostParts.others?.records,
      channels: deps.channels,
      host,
    }),
    ...createCheckpointHandlers({
      sprites: spriteService,
      machines,
      machineService,
      trustMachines: trustsMachines(options),
      clock,
      log,
    }),
    ...toResumeReportHandlers(deps, watches),
    ...createSignOn({ ...deps, storage, readUrl: toReadUrl(deps.proxyAddresses) }),
    ...createMachineUsageHandlers(storage, clock),
    ...createNoticeHandlers({
      notices,
      watches,
      recheck,
      findSprite: spriteService.findFor,
    }),
    ...createAdministration({
      extensions: deps.extensions.service,
      ...deps.userParts,
      storage,
      organizations,
      apps,
      secrets,
      sprites,
      spriteService,
      volumeService,
      connectorService: deps.connecting.service,
      tokens,
      vault: deps.vault,
      clock,
      isShared,
      self: deps.hostParts.self,
      upkeep: machineService.upkeep,
    }),
  };
}

function toReadUrl(addresses: ProxyAddresses | undefined) {
  return addresses && ((redirect_uri: string) => readCallback(redirect_uri, addresses));
}

/** Moves for callers whom the organization knows. */
function toPlaced(queue: Pick<StartQueue, 'start' | 'place'>) {
  const start = (id: string, signal: AbortSignal) => queue.start(id, { mayMakeRoom: true, signal });
  const place: Place = (id, signal, move) => queue.place(id, { mayMakeRoom: true, signal }, move);
  return { start, place };
}

/** A virtual machine shares neither kernel nor files with the platform. */
export function trustsMachines({ trustMachines = false, qemu }: PlatformOptions): boolean {
  return trustMachines || qemu !== undefined;
}

function toResumeReportHandlers(deps: PlatformEdgeDeps, watches: Pick<PortWatches, 'look'>) {
  const { options, stores, fencing, machineService, clock } = deps;
  return createResumeReportHandlers({
    machines: stores.machines,
    machineService,
    fencing,
    store: stores.incarnations,
    async endPorts(sprite_id, ended) {
      const end = (sql: Sql) => endPorts(sql, sprite_id, ended, clock.wall_ms());
      await stores.storage.transaction(end, `notices of ${sprite_id}`);
      watches.look(sprite_id);
    },
    clock,
    reconnectSpread_ms: options.reconnectSpread_ms ?? 0,
    toPortTemplate: (organization, sprite) => deps.proxyAddresses?.toPortTemplate(organization, sprite),
    log: options.log,
  });
}

function toHistoryHandlers({ stores, changes, clock }: Pick<PlatformEdgeDeps, 'stores' | 'changes' | 'clock'>) {
  const { storage, machines, callers } = stores;
  const followers = createEventFollowers({ storage, machines, changes });
  return createHistoryHandlers({ storage, machines, followers, recheck: createRecheckToken({ callers, clock }) });
}
