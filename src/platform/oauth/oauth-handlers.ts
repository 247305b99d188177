// The rows of connectors by OAuth and by provisioning (document 1, "Endpoints").
import type { ConnectionResponse } from '../../contract/connectors.ts';
import type { oauthOperations } from '../../contract/oauth.ts';
import type { Handlers } from '../../http/handler.ts';
import type { ConnectorRow } from '../connectors/connector-store.ts';
import type { ProvisionService } from '../provisioning/provision-service.ts';
import { organizationOf, type Principal } from '../tokens/principal.ts';
import type { ConnectorOwner, OAuthService } from './oauth-service.ts';

export interface OAuthHandlerDeps {
  readonly oauth: OAuthService;
  readonly provisioning: ProvisionService;
  readonly toResponse: (row: ConnectorRow) => ConnectionResponse;
}

export function createOAuthHandlers(deps: OAuthHandlerDeps): Handlers<typeof oauthOperations, Principal> {
  return {
    async provisionConnection({ principal, body }) {
      return deps.toResponse(await deps.provisioning.provision(toOwner(principal), body.provider));
    },
    authorizeConnection: ({ principal, params, query }) =>
      deps.oauth.authorize(organizationOf(principal).id, params.provider, query),
    async completeConnection({ principal, params, body }) {
      return deps.toResponse(await deps.oauth.complete(toOwner(principal), params.provider, body));
    },
    landOnCallback({ params, query }) {
      const { provider } = params;
      if (query.error !== undefined)
        return { provider, error: query.error, message: 'the provider gave no authorization' };
      const message = `finish with POST /v1/oauth/${provider}/callback, the code, the state, and the token of your organization`;
      return { provider, code: query.code, state: query.state, message };
    },
  };
}

export function toOwner(principal: Principal): ConnectorOwner {
  const user_id = principal.type === 'anonymous' ? null : principal.token.user_id;
  return { organization_id: organizationOf(principal).id, user_id };
}
