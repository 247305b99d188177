// The control plane, wired: opens its directory, its stores and its listeners, in this order, and closes them in the reverse
// order. Machines outlive it, unless `endMachines` says otherwise.
import { join, resolve } from 'node:path';
import { platformListenerNames } from '../contract/listeners.ts';
import { platformOperations } from '../contract/platform-operations.ts';
import { systemClock } from '../core/clock.ts';
import { logHolds } from '../http/log-holds.ts';
import { checkServedAt } from '../http/served-at.ts';
import { createAdmin, type PlatformAdmin } from './admin.ts';
import { createCatalogue } from './catalogue/catalogue.ts';
import { createChanges } from './changes.ts';
import { openChannels } from './channels/open-channels.ts';
import { createExtensionProviders } from './extension-providers/extension-providers.ts';
import { createProviderRegistration } from './extension-providers/provider-registration.ts';
import { createFencing } from './fencing/fencing.ts';
import { createAccessLog } from './observability/access-log.ts';
import { createMetricsListener } from './observability/metrics-listener.ts';
import { createPlatformMetrics } from './observability/platform-metrics.ts';
import { openCosts } from './open-costs.ts';
import { openExtensions } from './open-extensions.ts';
import { openFront, openWays, toSurroundings } from './open-front.ts';
import { openGateway } from './open-gateway.ts';
import { openHosts } from './open-hosts.ts';
import { openIdle } from './open-idle.ts';
import { openListeners } from './open-listeners.ts';
import { openMachines } from './open-machines.ts';
import { openMail } from './open-mail.ts';
import { openNotices } from './open-notices.ts';
import { openPolicies } from './open-policies.ts';
import { openStores } from './open-stores.ts';
import { openUsers } from './open-users.ts';
import { createPlatformAddresses } from './platform-addresses.ts';
import { createPlatformEdge } from './platform-edge.ts';
import type { PlatformOptions } from './platform-options.ts';
import { openSignedCalls } from './provider-calls/open-signed-calls.ts';
import { createProxyAddresses } from './proxy/proxy-addresses.ts';
import { createVault } from './vault/vault.ts';

export interface Platform extends AsyncDisposable {
  /** The URL where callers reach the platform, without a slash at the end. */
  readonly url: string;
  readonly admin: PlatformAdmin;
  /** Where mail for aliases is taken; undefined where it is not. */
  readonly mailPort: number | undefined;
  /** Settles when the database has answered. */
  answers(): Promise<unknown>;
}

const DRAIN_MS = 2_000;

/**
 * Throws `not_configured` without a vault key, with one that cannot be read, or when stored credentials need another one;
 * `conflict` when another platform uses the directory; whatever SQLite says of a database that is damaged or cannot be
 * written: it is never replaced.
 */
export async function openPlatform(options: PlatformOptions): Promise<Platform> {
  const { log, clock = systemClock } = options;
  const proxyAddresses = options.proxy && createProxyAddresses(options.proxy);
  const around = toSurroundings(options, proxyAddresses);
  const machinesDir = join(resolve(options.dir), 'machines');
  const addresses = createPlatformAddresses(options.publicUrl);
  const platformUrl = addresses.url;
  checkServedAt(platformOperations, platformListenerNames);
  await using stack = new AsyncDisposableStack();

  const vault = createVault(options.keys);
  const catalogue = createCatalogue(options.catalogue);
  const stores = stack.use(await openStores(options, vault));
  const changes = createChanges();
  const fencing = createFencing(stores.incarnations, changes);

  const metrics = stack.use(createPlatformMetrics(stores.storage, options.version, logHolds(log)));
  const metricsListener = createMetricsListener(options.metrics ?? {}, options.listen.host);
  const accessLog = createAccessLog(metrics, log);

  const machineParts = await openMachines({ options, stores, machinesDir, addresses, changes, clock });
  const { machineService, spriteService, volumeService } = machineParts;
  const hostParts = stack.use(await openHosts({ options, stores, vault, clock, capacity: machineService.capacity }));
  const { records } = hostParts.others ?? {};
  const policies = openPolicies(stores, changes, clock, log);
  const channels = stack.use(openChannels(changes, records, log, clock, policies));
  metrics.showChannels(() => channels.counts());
  const idle = openIdle({ options, stores, machineService, channels, changes, clock });
  const ways = openWays({ options, stores, changes, channels, hostParts, startQueue: idle.startQueue });
  const userParts = openUsers({ ...stores, clock, passwordCost: options.passwordCost });
  const providers = createExtensionProviders({ sql: stores.storage, vault, clock });
  const calls = stack.use(openSignedCalls(providers, clock));
  const calling = { ...stores, providers, call: calls.call, clock, log };
  stack.use(openNotices({ ...calling, changes }));
  const costs = stack.use(openCosts(calling));
  const gatewayDeps = { options, stores, catalogue, vault, changes, metrics, platformUrl, clock };
  const { connecting, gateway } = stack.use(await openGateway(gatewayDeps));
  const extensions = stack.use(
    await openExtensions({ options, stores, providers, call: calls.call, vault, changes, machineParts, clock }),
  );
  const edge = createPlatformEdge({
    options,
    stores,
    vault,
    fencing,
    channels,
    policies,
    hostParts,
    idle,
    ways,
    changes,
    ...machineParts,
    userParts,
    costs,
    connecting,
    gateway,
    extensions,
    metrics,
    metricsListener,
    accessLog,
    proxyAddresses,
    around,
    machinesDir,
    platformUrl,
    clock,
  });

  stack.defer(() => edge.drain(DRAIN_MS));
  stack.use(machineService);
  stack.use(idle);
  await machineService.reconcile();
  stack.use(
    await openFront({
      options,
      stores,
      vault,
      changes,
      ways,
      userParts,
      proxyAddresses,
      privateNetworks: machineParts.privateNetworks,
      traffic: idle.traffic,
      metrics,
      platformUrl,
      clock,
    }),
  );
  stack.use(await openListeners({ options, edge, metricsListener, addresses }));
  const mail = stack.use(await openMail({ mail: options.mail, users: userParts.users, clock, log }));
  machineService.carryOn();
  idle.start();
  void volumeService.carryOn();

  const admin = createAdmin({
    ...stores,
    ...userParts,
    spriteService,
    connectorService: connecting.service,
    machineService,
    registration: createProviderRegistration({ storage: stores.storage, vault, clock }),
    catalogue,
    usage: gateway.usage,
    clock,
    machinesDir,
    around,
    platformUrl,
  });
  const owned = stack.move();
  return {
    url: platformUrl(),
    admin,
    mailPort: mail.port,
    answers: () => stores.storage.one('SELECT 1 AS one'),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
