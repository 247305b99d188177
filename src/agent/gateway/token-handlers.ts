// Handles the operations of the gateway that need no policies: the tokens of the loopback listener, and the log of calls.
import { type gatewayOperations, gatewayTokenRequest } from '../../contract/local/gateway.ts';
import { toDateTime } from '../../core/clock.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Handlers } from '../../http/handler.ts';
import type { CapabilityTokens } from '../access/capability-tokens.ts';
import type { AuditLog } from './audit/audit-log.ts';

export interface TokenHandlerDeps {
  /** Undefined while no policies are known. Throws `not_configured`. */
  readonly hasConnector: (id: string) => boolean | undefined;
  readonly audit: AuditLog;
  readonly tokens: CapabilityTokens;
  /** Resolves when random values drawn here differ from those that a copy of this machine draws. */
  readonly mayDraw: () => Promise<void>;
}

export type TokenOperation = 'createGatewayToken' | 'listGatewayTokens' | 'revokeGatewayToken' | 'gatewayLog';

export function createTokenHandlers(
  deps: TokenHandlerDeps,
): Handlers<Pick<typeof gatewayOperations, TokenOperation>, unknown> {
  return {
    async createGatewayToken({ body }) {
      await deps.mayDraw();
      const { connector_id, expire } = body ?? gatewayTokenRequest.parse({});
      if (connector_id !== undefined && deps.hasConnector(connector_id) === false) {
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
  };
}
