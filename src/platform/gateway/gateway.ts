// The gateway of the platform, wired: calls, discovery, the feed of changes, and usage.
import type { gatewayOperations } from '../../contract/gateway.ts';
import type { gatewayDiscoveryOperations } from '../../contract/gateway-discovery.ts';
import type { gatewayUsageOperations } from '../../contract/gateway-usage.ts';
import type { Log } from '../../core/log.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';
import { createDiscoveryHandlers, type DiscoveryDeps } from './discovery-handlers.ts';
import { createGatewayHandlers, type GatewayDeps } from './gateway-handlers.ts';
import { createUsageHandlers } from './usage/usage-handlers.ts';
import { createUsageRecorder } from './usage/usage-recorder.ts';
import { createUsageStore, type UsageStore } from './usage/usage-store.ts';

type Rows = typeof gatewayOperations & typeof gatewayDiscoveryOperations & typeof gatewayUsageOperations;

export interface GatewayOptions extends Omit<GatewayDeps, 'usageRecorder'>, Omit<DiscoveryDeps, 'sprites'> {
  readonly storage: Pick<Storage, 'all' | 'one' | 'transaction'>;
  readonly connectors: GatewayDeps['connectors'] & DiscoveryDeps['connectors'];
  readonly credentials: GatewayDeps['credentials'];
  readonly sprites: GatewayDeps['sprites'] & DiscoveryDeps['sprites'];
  readonly log: Log;
}

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<Rows, Principal>;
  readonly usage: UsageStore;
}

/** Dispose of it after the last call has ended, and before the storage is closed. */
export function createGateway(options: GatewayOptions): Gateway {
  const { clock, log } = options;
  const usage = createUsageStore(options.storage);
  const usageRecorder = createUsageRecorder({ usage, clock, log });
  return {
    usage,
    handlers: {
      ...createGatewayHandlers({ ...options, usageRecorder }),
      ...createDiscoveryHandlers(options),
      ...createUsageHandlers({ usage, clock }),
    },
    [Symbol.asyncDispose]: () => usageRecorder[Symbol.asyncDispose](),
  };
}
