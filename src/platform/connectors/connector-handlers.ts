// The rows of connectors (document 1, "Endpoints"). Nothing secret goes in an answer.
import type { ConnectionResponse, connectorOperations } from '../../contract/connectors.ts';
import type { Handlers } from '../../http/handler.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import { toConnectionRecord } from './connector-record.ts';
import type { ConnectorService } from './connector-service.ts';
import type { ConnectorRow } from './connector-store.ts';

export interface ConnectorHandlerDeps {
  readonly service: ConnectorService;
  readonly catalogue: Catalogue;
  readonly platformUrl: () => string;
}

export function createConnectorHandlers(deps: ConnectorHandlerDeps): Handlers<typeof connectorOperations, Principal> {
  const { service } = deps;
  const toRecord = (row: ConnectorRow) =>
    toConnectionRecord(row, deps.catalogue.find(row.provider), deps.platformUrl());
  const toResponse = (row: ConnectorRow): ConnectionResponse => ({ connection: toRecord(row) });
  return {
    listConnections({ principal, query }) {
      return { connections: service.list(organizationOf(principal).id, query.provider).map(toRecord) };
    },
    createApiKeyConnection: ({ principal, body }) => toResponse(service.create(organizationOf(principal).id, body)),
    readConnection: ({ principal, params }) => toResponse(service.find(organizationOf(principal).id, params.id)),
    updateConnection: ({ principal, params, body }) =>
      toResponse(service.setPolicy(organizationOf(principal).id, params.id, body.access_policy)),
    replaceConnection: ({ principal, params, body }) =>
      toResponse(service.setPolicy(organizationOf(principal).id, params.id, body.access_policy)),
    deleteConnection({ principal, params }) {
      service.delete(organizationOf(principal).id, params.id);
    },
  };
}
