// The operations of connectors (Sandbox API, Endpoints). No answer holds a secret.
import type { ConnectionResponse, connectorOperations } from '../../contract/connectors.ts';
import { RemoraError } from '../../core/remora-error.ts';
import type { Call, Handlers } from '../../http/handler.ts';
import { organizationOf, type Principal, spriteOf } from '../tokens/principal.ts';
import { createCompiledPolicies } from './compiled-policies.ts';
import type { ConnectorService } from './connector-service.ts';
import { listConnections } from './list-connections.ts';
import { toOwner } from './oauth/oauth-handlers.ts';
import type { ConnectorRow } from './records/connector-store.ts';
import { splitByUse } from './split-by-use.ts';

export interface ConnectorHandlerDeps {
  readonly service: ConnectorService;
  readonly toResponse: (row: ConnectorRow) => ConnectionResponse;
  /** Whether a provider is asked about a key before it is stored. */
  readonly verifyKeys: boolean;
}

type ChangeCall = Pick<Call<typeof connectorOperations.updateConnection, Principal>, 'principal' | 'params' | 'body'>;

export function createConnectorHandlers(deps: ConnectorHandlerDeps): Handlers<typeof connectorOperations, Principal> {
  const { service, toResponse } = deps;
  const policyOf = createCompiledPolicies();

  async function change({ principal, params, body }: ChangeCall): Promise<ConnectionResponse> {
    const { id: organization_id } = organizationOf(principal);
    const { access_policy, name } = body;
    // The name is set first: when another connector has it, nothing is changed.
    if (name !== undefined) await service.setName(organization_id, params.id, name);
    if (access_policy !== undefined) await service.setPolicy(organization_id, params.id, access_policy);
    return toResponse(await service.find(organization_id, params.id));
  }

  return {
    async listConnections({ principal, query }) {
      const rows = await service.list(organizationOf(principal).id, query.provider);
      const { usable, denied } = await splitByUse(rows, principal, policyOf);
      const connections = await listConnections(usable, (row) => toResponse(row).connection);
      if (spriteOf(principal) === undefined) return { connections };
      return { connections, denied: denied.map(({ id, provider }) => ({ id, provider })) };
    },
    async createApiKeyConnection({ principal, body }) {
      const { organization_id, user_id } = toOwner(principal);
      if (deps.verifyKeys) await service.verify(body);
      return toResponse(await service.create(organization_id, { ...body, user_id }));
    },
    async readConnection({ principal, params }) {
      const found = await service.find(organizationOf(principal).id, params.id);
      const [row] = (await splitByUse([found], principal, policyOf)).usable;
      if (row === undefined) throw new RemoraError('not_found', 'there is no such connector');
      return toResponse(row);
    },
    updateConnection: change,
    replaceConnection: change,
    async deleteConnection({ principal, params }) {
      await service.delete(organizationOf(principal).id, params.id);
    },
  };
}
