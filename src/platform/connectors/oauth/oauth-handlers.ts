// The operations of connectors by OAuth and by provisioning (Sandbox API, Endpoints).
import type { ConnectionResponse } from '../../../contract/connectors.ts';
import type { oauthOperations } from '../../../contract/oauth.ts';
import type { Handlers } from '../../../http/handler.ts';
import { isCaller, organizationOf, type Principal, tokenOf } from '../../tokens/principal.ts';
import type { ProvisionService } from '../provisioning/provision-service.ts';
import type { ConnectorOwner } from '../records/connector-owner.ts';
import type { ConnectorRow } from '../records/connector-store.ts';
import type { AuthorizationOwner } from './begin-authorization.ts';
import type { OAuthService } from './oauth-service.ts';

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
      deps.oauth.authorize(toAuthorizationOwner(principal), params.provider, query),
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

function toAuthorizationOwner(principal: Principal): AuthorizationOwner {
  return { organization_id: organizationOf(principal).id, token_id: tokenOf(principal).id };
}

export function toOwner(principal: Principal): ConnectorOwner {
  const user_id = isCaller(principal) ? principal.token.user_id : null;
  return { organization_id: organizationOf(principal).id, user_id };
}
