// What is answered where no network policy can be enforced: nothing is restricted, and what is missing.
import type { networkOperations } from '../contract/local/network.ts';
import { checkRules } from '../core/network-policy/check-rules.ts';
import { readHost } from '../core/network-policy/read-host.ts';
import { RemoraError } from '../core/remora-error.ts';
import type { Handlers } from '../http/handler.ts';

export type NetworkHandlers = Handlers<typeof networkOperations, null>;
/** What is done with a policy. */
export type PolicyHandlers = Omit<NetworkHandlers, 'yieldNetwork'>;

const unrestricted = { put_back: 0, addresses: 0, refused_names: 0 };

/** @param missing what has to be installed or granted. */
export function createUnableHandlers(missing: string): PolicyHandlers {
  return {
    async enforceNetwork({ body }) {
      await checkRules(body.rules, 'body.rules');
      if (body.rules.length === 0) return { rules: [], ...unrestricted };
      const message = `a network policy cannot be enforced here: it needs ${missing}; it is not kept, and nothing is restricted`;
      throw new RemoraError('not_supported', message, { details: { missing } });
    },
    readNetwork: () => ({ rules: [], ...unrestricted }),
    explainNetwork({ body }) {
      readHost(body.host);
      return { decision: 'allow', reason: 'nothing is restricted', addresses: [], names: [] };
    },
    listRefusedNetwork: () => ({ refused: [] }),
    watchResolver: (_call, sink) => sink.send({ dns_port: 0 }),
  };
}
