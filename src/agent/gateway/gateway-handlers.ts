// The rows of the gateway that answer with a value: list, explain, tokens, log, connectors.
import { type gatewayOperations, gatewayTokenRequest } from '../../contract/local/gateway.ts';
import { toDateTime } from '../../core/clock.ts';
import type { GatewayTarget } from '../../core/gateway-target.ts';
import { RemoraError } from '../../core/remora-error.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { AuditLog } from './audit-log.ts';
import type { CapabilityTokens } from './capability-tokens.ts';
import { type LocalAddress, toConnectorList } from './connector-list.ts';
import type { Discovery } from './discovery.ts';
import { toExplainTarget, toExplanation } from './explain.ts';
import type { Verdict } from './judge.ts';
import type { Policies } from './policies.ts';
import type { PolicySnapshot } from './policy-snapshot.ts';

export interface GatewayHandlerDeps {
  /** Throws `not_configured`. */
  readonly policies: () => Policies;
  /** For showing only, so that its age does not matter; throws `policy_unavailable` when there is none at all. */
  readonly shown: () => Promise<PolicySnapshot>;
  readonly verdictOn: (target: GatewayTarget) => Promise<Verdict>;
  readonly audit: AuditLog;
  readonly tokens: CapabilityTokens;
  readonly local: () => LocalAddress;
  readonly askPlatform: Discovery['askPlatform'];
}

type Rows = Omit<typeof gatewayOperations, 'gateway' | 'listProviders' | 'gatewayGuide'>;

export function createGatewayHandlers(deps: GatewayHandlerDeps): Handlers<Rows, unknown> {
  const { shown } = deps;
  const age = () => ({ age: String(Math.floor(deps.policies().age_ms / 1_000)) });

  return {
    listGateway: async () => new Reply(200, toConnectorList(await shown(), deps.local()), age()),
    async explainGateway({ body, signal }) {
      const policies = deps.policies();
      const verdict = await deps.verdictOn(toExplainTarget(body)).catch(toVerdict);
      const explanation = toExplanation(verdict, policies, body.headers);
      return body.platform ? { ...explanation, platform: await deps.askPlatform(body, signal) } : explanation;
    },
    createGatewayToken({ body }) {
      const { connector_id, expire } = body ?? gatewayTokenRequest.parse({});
      if (connector_id !== undefined && deps.policies().snapshot?.connectors.has(connector_id) === false) {
        throw new RemoraError('unknown_connector', `there is no connector ${connector_id}`);
      }
      const { id, text, expires_at_ms } = deps.tokens.create(expire, connector_id);
      return { id, token: text, connector_id: connector_id ?? null, expires_at: toDateTime(expires_at_ms) };
    },
    listGatewayTokens: () => ({
      tokens: deps.tokens.list().map(({ id, connector_id, expires_at_ms }) => ({
        id,
        connector_id,
        expires_at: toDateTime(expires_at_ms),
      })),
    }),
    revokeGatewayToken({ params }) {
      if (!deps.tokens.revoke(params.id)) throw new RemoraError('not_found', `there is no token ${params.id}`);
    },
    gatewayLog: ({ query }) => deps.audit.page(query.limit, query.after),
    async listConnections({ query }) {
      const { connections } = (await shown()).document;
      const wanted = connections.filter(({ provider }) => (query.provider ?? provider) === provider);
      return new Reply(200, { connections: wanted }, age());
    },
    async readConnection({ params }) {
      const found = (await shown()).connectors.get(params.id);
      if (found === undefined) throw new RemoraError('not_found', `there is no connector ${params.id}`);
      return new Reply(200, { connection: found.connection }, age());
    },
  };
}

/** A call would get this error; explain says so instead of failing. */
function toVerdict(error: unknown): Verdict {
  if (!(error instanceof RemoraError)) throw error;
  return { type: 'reject', code: error.code, message: error.message };
}
