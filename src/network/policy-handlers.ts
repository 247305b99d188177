// What the agent asks of the process that enforces the network policy. It serves before names are resolved, and calls wait for that.
import type { Enforcement } from './enforcement.ts';
import type { PolicyHandlers } from './unable-handlers.ts';

export interface PolicyHandlerOptions {
  readonly enforcement: Enforcement;
  /** Resolves when names are resolved, and what held before is enforced. */
  readonly ready: Promise<void>;
  readonly dnsPort: () => number;
  /** What holds now is there for the process that comes after this one. */
  readonly keep: () => void;
}

export function createPolicyHandlers({ enforcement, ready, dnsPort, keep }: PolicyHandlerOptions): PolicyHandlers {
  return {
    async enforceNetwork({ body }) {
      await ready;
      const state = await enforcement.enforce(body);
      keep();
      return state;
    },
    async readNetwork() {
      await ready;
      return enforcement.state();
    },
    async explainNetwork({ body }) {
      await ready;
      return enforcement.explain(body);
    },
    async listRefusedNetwork() {
      await ready;
      return { refused: enforcement.listRefused() };
    },
    async watchResolver(_call, sink) {
      sink.send({ dns_port: dnsPort() });
      await ready;
      sink.send({ dns_port: dnsPort() });
    },
  };
}
