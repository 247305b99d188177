// The operations of the network policy in this machine: each is carried out by the process that enforces it.
import type { ownNetworkOperations } from '../../contract/local/own-network.ts';
import type { NetworkPolicyRequest } from '../../contract/network-policy.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Caller } from '../access/authenticator.ts';
import type { NetworkLink } from './network-link.ts';

export interface NetworkHandlerOptions {
  /** Asks the process, which it starts where it does not run. */
  readonly ask: <T>(call: (client: NetworkLink['client']) => Promise<T>) => Promise<T>;
  /** Resolves when the rules hold. */
  readonly enforce: (policy: NetworkPolicyRequest) => Promise<NetworkPolicyRequest>;
  /** What is missing here for a network policy. */
  readonly missing: () => string | undefined;
  /** Whether nothing has been restricted: then nobody is asked. */
  readonly isQuiet: () => boolean;
  /** Resolves when no change is under way. */
  readonly settled: () => Promise<unknown>;
  /** Keeps nothing to enforce any more. False where something may be enforced since the boot. */
  readonly forget: () => boolean;
  /** The policy of the sprite cannot be enforced here. */
  readonly onUnenforced: (missing: string) => void;
}

export function createNetworkHandlers({
  ask,
  enforce,
  missing,
  isQuiet,
  settled,
  forget,
  onUnenforced,
}: NetworkHandlerOptions): Handlers<typeof ownNetworkOperations, Caller> {
  return {
    async readNetworkPolicy() {
      if (isQuiet()) return { rules: [] };
      const lacking = missing();
      if (lacking !== undefined) throw notEnforced(lacking);
      // Right after a start, what enforces may still have other rules than those that this agent is about to send it.
      await settled();
      const { rules } = await ask((client) => client.call('readNetwork'));
      return { rules };
    },
    async enforceNetworkPolicy({ body: { rules, stored = false } }) {
      if (rules.length === 0 && isQuiet() && forget()) return { rules };
      const lacking = missing();
      if (lacking === undefined) return await enforce({ rules });
      if (rules.length === 0 && forget()) return { rules };
      if (stored) onUnenforced(lacking);
      throw notEnforced(lacking);
    },
    async explainNetworkPolicy({ body }) {
      if (isQuiet()) {
        const { readHost } = await import('../../core/network-policy/read-host.ts');
        readHost(body.host);
        return { decision: 'allow', reason: 'nothing is restricted', addresses: [], names: [] };
      }
      return await ask((client) => client.call('explainNetwork', { body }));
    },
    async listRefusedConnections() {
      if (isQuiet()) return { refused: [] };
      return await ask((client) => client.call('listRefusedNetwork'));
    },
  };
}

function notEnforced(missing: string): RemoraError {
  const message = `a network policy cannot be enforced here: it needs ${missing}; nothing is changed`;
  return new RemoraError('not_supported', message, { details: { missing } });
}
