// The operations of the operator's socket, served from the database of a platform that does not run. Moving a machine throws
// `invalid_state`.
import { appSecretOperations } from '../../contract/app-secrets.ts';
import { appOperations } from '../../contract/apps.ts';
import { connectorOperations } from '../../contract/connectors.ts';
import { extensionCostOperations } from '../../contract/extension-cost-totals.ts';
import { extensionProviderOperations } from '../../contract/extension-providers.ts';
import { extensionOperations } from '../../contract/extension-records.ts';
import { gatewayUsageOperations } from '../../contract/gateway-usage.ts';
import { hostOperations } from '../../contract/hosts.ts';
import { platformListenerNames } from '../../contract/listeners.ts';
import { machineChangeOperations } from '../../contract/machine-changes.ts';
import { machineHistoryOperations } from '../../contract/machine-history.ts';
import { machineIdleOperations } from '../../contract/machine-idle.ts';
import { machineLeaseOperations } from '../../contract/machine-leases.ts';
import { machineMetadataOperations } from '../../contract/machine-metadata.ts';
import { machineOperations } from '../../contract/machines.ts';
import { organizationOperations } from '../../contract/organizations.ts';
import { spriteOperations } from '../../contract/sprites.ts';
import { tokenOperations } from '../../contract/tokens.ts';
import { userOperations } from '../../contract/users.ts';
import { volumeOperations } from '../../contract/volumes.ts';
import { toLoggedPath } from '../../core/gateway/capability-text.ts';
import type { Log } from '../../core/log.ts';
import { randomBytes } from '../../core/urandom.ts';
import { createEdge, type Edge } from '../../http/edge.ts';
import { checkServedAt } from '../../http/served-at.ts';
import type { Connectors } from '../connectors/connectors.ts';
import { createIncarnationStore } from '../fencing/incarnation-store.ts';
import { createUsageHandlers } from '../gateway/usage/usage-handlers.ts';
import type { UsageStore } from '../gateway/usage/usage-store.ts';
import { createHistoryHandlers } from '../machines/machine-history-handlers.ts';
import type { MachineService } from '../machines/moves/machine-service.ts';
import { PROCESS_DEFAULTS } from '../machines/records/machine-defaults.ts';
import type { MachineStore } from '../machines/records/machine-store.ts';
import { createMachinesApi } from '../machines-api/create-machines-api.ts';
import { createSpriteHandlers } from '../sprites/sprite-handlers.ts';
import type { SpriteSurroundings } from '../sprites/sprite-record.ts';
import { mapStorageFailure } from '../storage/map-storage-failure.ts';
import { createOperatorAuthenticate } from '../tokens/authenticate-operator.ts';
import type { Principal } from '../tokens/principal.ts';
import { type AdministrationDeps, createAdministration } from './administration.ts';
import { toOfflineExtensionHandlers, toOfflineExtensionService } from './offline-extensions.ts';

export interface OfflineEdgeDeps extends Omit<AdministrationDeps, 'connectorService' | 'extensions'> {
  readonly machines: MachineStore;
  readonly machineService: MachineService;
  readonly connecting: Connectors;
  readonly usage: UsageStore;
  readonly around: SpriteSurroundings;
  readonly machinesDir: string;
  readonly log: Log;
}

const PAGE_KEY_BYTES = 32;

const operations = {
  ...spriteOperations,
  ...connectorOperations,
  ...appOperations,
  ...appSecretOperations,
  ...machineOperations,
  ...machineHistoryOperations,
  ...machineChangeOperations,
  ...machineIdleOperations,
  ...machineLeaseOperations,
  ...machineMetadataOperations,
  ...volumeOperations,
  ...gatewayUsageOperations,
  ...tokenOperations,
  ...organizationOperations,
  ...userOperations,
  ...hostOperations,
  ...extensionProviderOperations,
  ...extensionOperations,
  ...extensionCostOperations,
} as const;

export function createOfflineEdge(deps: OfflineEdgeDeps): Edge {
  checkServedAt(operations, platformListenerNames);
  const { sprites, spriteService: service, machines, machineService, around, log } = deps;
  const extensions = toOfflineExtensionService(deps);
  return createEdge<typeof operations, Principal>({
    operations,
    handlers: {
      ...createSpriteHandlers({ sprites, service, pageKey: randomBytes(PAGE_KEY_BYTES), around }),
      ...deps.connecting.handlers,
      ...createMachinesApi({
        storage: deps.storage,
        apps: deps.apps,
        sprites: service,
        volumeService: deps.volumeService,
        callOwner: undefined,
        defaults: PROCESS_DEFAULTS,
        machines,
        service: machineService,
        incarnations: createIncarnationStore(deps.storage),
        explainIdle: undefined,
        start: (id) => machineService.start(id),
        place: (_id, _signal, move) => move(),
        clock: deps.clock,
        host: undefined,
        machinesDir: deps.machinesDir,
        log,
      }),
      ...createHistoryHandlers({ storage: deps.storage, machines, followers: undefined, recheck: undefined }),
      ...createUsageHandlers(deps),
      ...toOfflineExtensionHandlers({ ...deps, service: extensions }),
      ...createAdministration({ ...deps, connectorService: deps.connecting.service, extensions }),
    },
    authenticate: createOperatorAuthenticate(deps.organizations),
    mapError: mapStorageFailure,
    log,
    toLoggedPath,
  });
}
