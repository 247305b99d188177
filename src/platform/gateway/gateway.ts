// The gateway of the platform, wired: calls, what is told about them beforehand, and what is kept of them afterwards.
import type { gatewayOperations } from '../../contract/gateway.ts';
import type { gatewayDiscoveryOperations } from '../../contract/gateway-discovery.ts';
import type { gatewayUsageOperations } from '../../contract/gateway-usage.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Storage } from '../storage/storage.ts';
import type { Principal } from '../tokens/principal.ts';
import { type CallLedgerOptions, createCallLedger } from './call-ledger.ts';
import { createDiscoveryHandlers, type DiscoveryDeps } from './discovery-handlers.ts';
import { createGatewayHandlers, type GatewayDeps } from './gateway-handlers.ts';
import { createUsageHandlers } from './usage-handlers.ts';
import { createUsageStore, type UsageStore } from './usage-store.ts';

type Rows = typeof gatewayOperations & typeof gatewayDiscoveryOperations & typeof gatewayUsageOperations;

export interface GatewayOptions extends Omit<GatewayDeps, 'ledger'>, Omit<DiscoveryDeps, 'sprites'> {
  readonly storage: Pick<Storage, 'all' | 'transaction'>;
  readonly connectors: GatewayDeps['connectors'];
  readonly credentials: GatewayDeps['credentials'];
  readonly sprites: GatewayDeps['sprites'] & DiscoveryDeps['sprites'];
  readonly log: CallLedgerOptions['log'];
}

export interface Gateway extends AsyncDisposable {
  readonly handlers: Handlers<Rows, Principal>;
  readonly usage: UsageStore;
}

/** To be disposed of when no call is open any more, and before the storage. */
export function createGateway(options: GatewayOptions): Gateway {
  const { clock, log } = options;
  const usage = createUsageStore(options.storage);
  const ledger = createCallLedger({ usage, clock, log });
  return {
    usage,
    handlers: {
      ...createGatewayHandlers({ ...options, ledger }),
      ...createDiscoveryHandlers(options),
      ...createUsageHandlers({ usage, clock }),
    },
    [Symbol.asyncDispose]: () => ledger[Symbol.asyncDispose](),
  };
}
