// Connectors by OAuth: where to send the user, and the connector once the user is back (Sandbox API, Endpoints).
import type { OAuthAuthorizeRequest, OAuthAuthorizeResponse, OAuthCallbackRequest } from '../../../contract/oauth.ts';
import type { Changes } from '../../changes.ts';
import type { ConnectorOwner } from '../records/connector-owner.ts';
import type { ConnectorRow } from '../records/connector-store.ts';
import { type AuthorizationOwner, type BeginAuthorizationDeps, beginAuthorization } from './begin-authorization.ts';
import { type FinishAuthorizationDeps, finishAuthorization } from './finish-authorization.ts';

export interface OAuthService {
  /** Throws `invalid_request` naming the field, `too_many_requests` when too many are begun and not finished. */
  authorize(
    owner: AuthorizationOwner,
    provider: string,
    request: OAuthAuthorizeRequest,
  ): Promise<OAuthAuthorizeResponse>;
  /**
   * Throws `invalid_request`, also for what the provider refuses, `record_altered` when the account has a connector whose record was
   * changed outside the platform, and `upstream_failed` or `upstream_timeout`.
   */
  complete(owner: ConnectorOwner, provider: string, request: OAuthCallbackRequest): Promise<ConnectorRow>;
}

export interface OAuthServiceDeps extends BeginAuthorizationDeps, FinishAuthorizationDeps {
  readonly states: BeginAuthorizationDeps['states'] & FinishAuthorizationDeps['states'];
  readonly vault: FinishAuthorizationDeps['vault'];
  /** Throws `not_found`. */
  readonly findConnector: (organization_id: string, id: string) => Promise<ConnectorRow>;
  /** Gets `connector_changed` when an authorization is complete. */
  readonly changes: Pick<Changes, 'publish'>;
}

export function createOAuthService(deps: OAuthServiceDeps): OAuthService {
  return {
    authorize: (owner, provider, request) => beginAuthorization(deps, owner, provider, request),
    async complete(owner, provider, request) {
      const connector_id = await finishAuthorization(deps, owner, provider, request);
      deps.changes.publish({ type: 'connector_changed', connector_id });
      return await deps.findConnector(owner.organization_id, connector_id);
    },
  };
}
