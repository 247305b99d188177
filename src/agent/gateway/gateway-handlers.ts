// Handles the operations of the gateway that answer with a value by the policies: list, explain, connectors.
import type { gatewayOperations } from '../../contract/local/gateway.ts';
import type { GatewayTarget } from '../../core/gateway/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import { type LocalAddress, toConnectorList, toLocalRecord } from './connector-list.ts';
import type { Discovery } from './discovery.ts';
import { toExplainTarget, toExplanation } from './explain.ts';
import type { Verdict } from './policies/judge-call.ts';
import type { Policies } from './policies/policies.ts';
import type { PolicySnapshot } from './policies/policy-snapshot.ts';
import type { TokenOperation } from './token-handlers.ts';

export interface GatewayHandlerDeps {
  readonly policies: Policies;
  /** The policies for display, whatever their age. Throws `policy_unavailable` when there are none. */
  readonly shown: () => Promise<PolicySnapshot>;
  readonly verdictOn: (target: GatewayTarget) => Promise<Verdict>;
  readonly local: () => LocalAddress;
  readonly askPlatform: Discovery['askPlatform'];
}

type Rows = Omit<typeof gatewayOperations, 'gateway' | 'listProviders' | 'gatewayGuide' | TokenOperation>;

export function createGatewayHandlers(deps: GatewayHandlerDeps): Handlers<Rows, unknown> {
  const { policies, shown } = deps;
  const age = () => ({ age: String(Math.floor(policies.age_ms / 1_000)) });

  return {
    listGateway: async () => new Reply(200, toConnectorList(await shown(), deps.local()), age()),
    async explainGateway({ body, signal }) {
      const verdict = await deps.verdictOn(toExplainTarget(body)).catch(toVerdict);
      const explanation = toExplanation(verdict, policies, body.headers);
      return body.platform ? { ...explanation, platform: await deps.askPlatform(body, signal) } : explanation;
    },
    async listConnections({ query }) {
      const snapshot = await shown();
      const connections = [...snapshot.connectors.values()]
        .filter(({ connection: { provider } }) => (query.provider ?? provider) === provider)
        .map((connector) => toLocalRecord(snapshot, connector, deps.local()));
      return new Reply(200, { connections }, age());
    },
    async readConnection({ params }) {
      const snapshot = await shown();
      const found = snapshot.connectors.get(params.id);
      if (found === undefined) throw new RemoraError('not_found', `there is no connector ${params.id}`);
      return new Reply(200, { connection: toLocalRecord(snapshot, found, deps.local()) }, age());
    },
  };
}

/** Turns the error that a call would get into a verdict, so that explain answers it in place of failing. */
function toVerdict(error: unknown): Verdict {
  if (!(error instanceof RemoraError)) throw error;
  return { type: 'reject', code: error.code, message: error.message };
}
