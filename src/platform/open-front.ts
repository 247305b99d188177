// Opens what leads callers to the machines: the proxy in front of them, when the platform was given an address for it, and the private addresses
// of extensions, where machines have networks of their own.
import type { Clock } from '../core/clock.ts';
import { toErrorMessage } from '../core/error-message.ts';
import { createAppStore } from './apps/app-store.ts';
import type { Changes } from './changes.ts';
import type { Channels } from './channels/channels.ts';
import { listPrivateTargets } from './extensions/list-private-targets.ts';
import type { StartQueue } from './idle/start-queue.ts';
import type { PlatformMetrics } from './observability/platform-metrics.ts';
import type { HostParts } from './open-hosts.ts';
import type { Stores } from './open-stores.ts';
import type { UserParts } from './open-users.ts';
import { trustsMachines } from './platform-edge.ts';
import type { PlatformOptions } from './platform-options.ts';
import { AppPlaces } from './proxy/app-places.ts';
import { findMachinesOf } from './proxy/host-names.ts';
import type { MachineTraffic } from './proxy/machine-traffic.ts';
import { HELD_MS, MachineWays } from './proxy/machine-ways.ts';
import { openProxy } from './proxy/open-proxy.ts';
import { OtherHosts } from './proxy/other-hosts.ts';
import { type PrivateNetwork, PrivateServices } from './proxy/private-services.ts';
import type { ProxyAddresses } from './proxy/proxy-addresses.ts';
import { TcpCalls } from './proxy/tcp-calls.ts';
import { SPRITE_URL, type SpriteSurroundings } from './sprites/sprite-record.ts';
import { mapStorageFailure } from './storage/map-storage-failure.ts';
import type { Vault } from './vault/vault.ts';

export interface OpenFrontDeps {
  readonly options: PlatformOptions;
  readonly stores: Stores;
  readonly vault: Pick<Vault, 'derive'>;
  readonly changes: Changes;
  readonly ways: MachineWays;
  readonly userParts: UserParts;
  /** Undefined without a proxy. */
  readonly proxyAddresses: ProxyAddresses | undefined;
  /** Undefined where machines have no network of their own. */
  readonly privateNetworks: (() => readonly PrivateNetwork[]) | undefined;
  readonly traffic: MachineTraffic;
  readonly metrics: Pick<PlatformMetrics, 'showRequests'>;
  readonly platformUrl: () => string;
  readonly clock: Clock;
}

/** How long a request waits for a place to start its machine in: the proxy holds it a little longer, and it then reads why. */
const PLACE_MS = HELD_MS - 1_000;

export interface OpenWaysDeps extends Pick<OpenFrontDeps, 'options' | 'stores' | 'changes'> {
  readonly channels: Channels;
  readonly hostParts: Pick<HostParts, 'others'>;
  readonly startQueue: Pick<StartQueue, 'start'>;
}

/** The way to each machine, for the proxy here and for those of other platform processes. */
export function openWays({ options, stores, changes, channels, hostParts, startQueue }: OpenWaysDeps): MachineWays {
  const { platforms, records } = hostParts.others ?? {};
  const onFailure = ({ id }: { readonly id: string }, error: unknown) =>
    options.log.warn(
      { machine: id, why: toErrorMessage(error) },
      'a machine could not be reached or started for a request',
    );
  return new MachineWays({
    channels,
    changes,
    async ensureRunning({ id, sprite_id, machine_only }, signal) {
      const sprite = machine_only ? undefined : await stores.sprites.find(sprite_id);
      // Only callers that the organization knows come in at a URL that is not public.
      const mayMakeRoom = sprite?.url_settings.auth === 'sprite';
      await startQueue.start(id, { mayMakeRoom, signal, most_ms: PLACE_MS });
    },
    trustMachines: trustsMachines(options),
    host: stores.host,
    onFailure,
    others:
      platforms && records && new OtherHosts({ openPipe: platforms.openPipe, holderOf: records.holderOf, onFailure }),
  });
}

/** Resolves when it listens; what it returns closes it. Throws what `openProxy` throws. */
export async function openFront(deps: OpenFrontDeps): Promise<AsyncDisposable> {
  const { options, stores, proxyAddresses: addresses } = deps;
  const { proxy, publicUrl, log } = options;
  const { storage, machines } = stores;
  const apps = createAppStore(storage);
  const findMachines = (app: string) => findMachinesOf(app, { apps, machines });
  const places = new AppPlaces(deps);
  const tcpCalls = new TcpCalls({ findMachines, places });
  await using stack = new AsyncDisposableStack();
  if (deps.privateNetworks !== undefined) {
    const services = new PrivateServices({
      networks: deps.privateNetworks,
      listTargets: () => listPrivateTargets(storage),
      organizationOf: async (machine_id) => (await machines.find(machine_id))?.organization_id,
      findMachines,
      calls: tcpCalls,
      log,
    });
    stack.use(services);
    services.start();
  }
  if (proxy === undefined || addresses === undefined) return stack.move();
  const opened = await openProxy({
    ...stores,
    ...deps,
    places,
    tcpCalls,
    findMachines,
    options: proxy,
    addresses,
    users: deps.userParts.users,
    key: deps.vault.derive('URLs of sprites'),
    publicUrl,
    wrongTokens: options.wrongTokens,
    showRequests: deps.metrics.showRequests,
    mapError: mapStorageFailure,
    log,
  });
  stack.use(opened);
  return stack.move();
}

/** Where sprites are reached, as their records say. */
export function toSurroundings(
  { spriteUrl = SPRITE_URL, environmentVersion }: Pick<PlatformOptions, 'spriteUrl' | 'environmentVersion'>,
  addresses: ProxyAddresses | undefined,
): SpriteSurroundings {
  return {
    get urlTemplate() {
      return addresses?.urlTemplate ?? spriteUrl;
    },
    environment_version: environmentVersion ?? null,
  };
}
