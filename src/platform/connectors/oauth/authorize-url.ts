// The URL at a provider to which a user is sent (RFC 6749, section 4.1.1; RFC 7636). Pure.
import { createHash } from 'node:crypto';
import type { OAuthSettings } from '../../catalogue/catalogue-entry.ts';

export interface AuthorizeRequest {
  readonly client_id: string;
  readonly redirect_uri: string;
  readonly scopes: readonly string[];
  readonly state: string;
  /** Left out for providers without PKCE. */
  readonly verifier: string;
}

export function toAuthorizeUrl(settings: OAuthSettings, request: AuthorizeRequest): string {
  const url = new URL(settings.authorize_url);
  const { searchParams: query } = url;
  query.set('response_type', 'code');
  query.set('client_id', request.client_id);
  query.set('redirect_uri', request.redirect_uri);
  if (request.scopes.length > 0) {
    query.set(settings.scope_parameter, request.scopes.join(settings.scope_separator));
  }
  query.set('state', request.state);
  if (settings.pkce) {
    query.set('code_challenge', createHash('sha256').update(request.verifier).digest('base64url'));
    query.set('code_challenge_method', 'S256');
  }
  for (const [name, value] of Object.entries(settings.parameters)) query.set(name, value);
  return url.href;
}
