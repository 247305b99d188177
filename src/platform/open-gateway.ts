// Wires the connectors and the gateway that calls providers through them.
import type { Clock } from '../core/clock.ts';
import type { Secret } from '../core/secret.ts';
import type { Catalogue } from './catalogue/catalogue.ts';
import type { Changes } from './changes.ts';
import { type Connectors, createConnectors } from './connectors/connectors.ts';
import { createKeptConnectors } from './connectors/kept-connectors.ts';
import { createGateway, type Gateway } from './gateway/gateway.ts';
import type { PlatformMetrics } from './observability/platform-metrics.ts';
import type { Stores } from './open-stores.ts';
import type { PlatformOptions } from './platform-options.ts';
import { startRevalidation } from './revalidation.ts';
import { createRecheckToken } from './tokens/recheck-token.ts';
import type { Vault } from './vault/vault.ts';

export interface GatewayParts extends AsyncDisposable {
  readonly connecting: Connectors;
  readonly gateway: Gateway;
}

export interface OpenGatewayDeps {
  readonly options: PlatformOptions;
  readonly stores: Stores;
  readonly catalogue: Catalogue;
  readonly vault: Vault;
  readonly changes: Changes;
  readonly metrics: Pick<PlatformMetrics, 'loop' | 'countRefresh'>;
  readonly platformUrl: () => string;
  readonly clock: Clock;
}

/** How long a call may go on with a token that has ended. */
const REVALIDATION_MS = 2_000;

/** Dispose of it after the last call has ended, and before the stores. */
export async function openGateway(deps: OpenGatewayDeps): Promise<GatewayParts> {
  const { options, stores, catalogue, vault, changes, metrics, platformUrl, clock } = deps;
  const { storage, callers, connectors, sprites } = stores;
  const { log, oauthClients = [], managementKeys = new Map<string, Secret>() } = options;
  await using stack = new AsyncDisposableStack();
  stack.use(startRevalidation(REVALIDATION_MS, changes, log));
  const connecting = stack.use(
    createConnectors({
      storage,
      connectors,
      catalogue,
      vault,
      clock,
      changes,
      platformUrl,
      oauthClients,
      managementKeys,
      verifyKeys: options.verifyKeys ?? false,
      resolve: options.resolve,
      onRefresh: metrics.countRefresh,
      log,
    }),
  );
  const gateway = stack.use(
    createGateway({
      storage,
      connectors,
      keptConnectors: createKeptConnectors(connectors, storage),
      sprites,
      catalogue,
      credentials: connecting.credentials,
      recheck: createRecheckToken({ callers, clock }),
      changes,
      ways: {
        oauth: new Set(oauthClients.map(({ provider }) => provider)),
        provision: new Set(managementKeys.keys()),
      },
      dispatcherFor: connecting.dispatcherFor,
      websocketIdle_ms: options.websocketIdle_ms,
      limits: options.gatewayLimits,
      onTurn: () => metrics.loop.enter('gateway'),
      clock,
      platformUrl,
      log,
    }),
  );
  const owned = stack.move();
  return { connecting, gateway, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
