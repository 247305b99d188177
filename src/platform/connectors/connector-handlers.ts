// The rows of connectors (document 1, "Endpoints"). Nothing secret goes in an answer.
import type { ConnectionResponse, connectorOperations } from '../../contract/connectors.ts';
import type { Handlers } from '../../http/handler.ts';
import { toOwner } from '../oauth/oauth-handlers.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { ConnectorService } from './connector-service.ts';
import type { ConnectorRow } from './connector-store.ts';

export interface ConnectorHandlerDeps {
  readonly service: ConnectorService;
  readonly toResponse: (row: ConnectorRow) => ConnectionResponse;
  /** Whether a provider is asked about a key before it is stored. */
  readonly verifyKeys: boolean;
}

export function createConnectorHandlers(deps: ConnectorHandlerDeps): Handlers<typeof connectorOperations, Principal> {
  const { service, toResponse } = deps;
  return {
    async listConnections({ principal, query }) {
      const rows = await service.list(organizationOf(principal).id, query.provider);
      return { connections: rows.map((row) => toResponse(row).connection) };
    },
    async createApiKeyConnection({ principal, body }) {
      const { organization_id, user_id } = toOwner(principal);
      if (deps.verifyKeys) await service.verify(body);
      return toResponse(await service.create(organization_id, { ...body, user_id }));
    },
    readConnection: async ({ principal, params }) =>
      toResponse(await service.find(organizationOf(principal).id, params.id)),
    updateConnection: async ({ principal, params, body }) =>
      toResponse(await service.setPolicy(organizationOf(principal).id, params.id, body.access_policy)),
    replaceConnection: async ({ principal, params, body }) =>
      toResponse(await service.setPolicy(organizationOf(principal).id, params.id, body.access_policy)),
    async deleteConnection({ principal, params }) {
      await service.delete(organizationOf(principal).id, params.id);
    },
  };
}
