// What a request to authorize asks for, judged in the order of RFC 6749, Error Response: without a known client and one of its addresses
// the user is told, and nobody is redirected; every other fault goes to the provider by a redirect. Pure.
import type { AuthorizeQuery } from '../../contract/sign-on.ts';
import type { SignOnClient } from './sign-on-client.ts';

export interface SignOnRequest {
  readonly client: SignOnClient;
  /** The platform's own: RFC 9207 has the provider compare it, so that no other server's answer is taken for this one. */
  readonly issuer: string;
  readonly redirect_uri: string;
  readonly state: string | undefined;
  readonly organization_id: string | undefined;
  readonly code_challenge: string | undefined;
}

export type AuthorizeFault =
  | 'invalid_request'
  | 'unsupported_response_type'
  | 'invalid_scope'
  | 'access_denied'
  | 'server_error';

export type JudgedAuthorize =
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'fault'; readonly location: string }
  | { readonly type: 'request'; readonly request: SignOnRequest };

/** RFC 7636, Client Creates the Code Challenge: 43 characters for S256. */
const CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

export function judgeAuthorize(
  query: AuthorizeQuery,
  client: SignOnClient | undefined,
  issuer: string,
): JudgedAuthorize {
  if (client === undefined) return { type: 'refused', message: 'The provider that sent you here is not known.' };
  const { redirect_uri, state } = query;
  if (redirect_uri === undefined || !client.redirect_uris.includes(redirect_uri)) {
    return { type: 'refused', message: 'The address that the provider wants you to return to is not registered.' };
  }
  const fault = (error: AuthorizeFault, text: string): JudgedAuthorize => ({
    type: 'fault',
    location: toFaultLocation({ redirect_uri, state, issuer }, error, text),
  });
  if (!query.response_type) return fault('invalid_request', 'response_type is missing');
  if (query.response_type !== 'code') return fault('unsupported_response_type', 'response_type must be code');
  if ((query.scope || 'read') !== 'read') return fault('invalid_scope', 'scope must be read');
  const { code_challenge, code_challenge_method, organization_id } = query;
  if (code_challenge !== undefined || code_challenge_method !== undefined) {
    if (code_challenge_method !== 'S256') return fault('invalid_request', 'code_challenge_method must be S256');
    if (!CHALLENGE.test(code_challenge ?? '')) return fault('invalid_request', 'code_challenge is malformed');
  }
  if (organization_id === '') return fault('invalid_request', 'organization_id is empty');
  return { type: 'request', request: { client, issuer, redirect_uri, state, organization_id, code_challenge } };
}

type Return = Pick<SignOnRequest, 'redirect_uri' | 'state' | 'issuer'>;

/** Where the browser goes with a fault: the registered address with `error`, `error_description`, `state` and `iss`. */
export function toFaultLocation(request: Return, error: AuthorizeFault, error_description: string): string {
  return toLocation(request, { error, error_description });
}

/** The registered address, its own query kept, with further parameters, `state` and `iss`. */
export function toLocation(
  { redirect_uri, state, issuer: iss }: Return,
  added: Readonly<Record<string, string>>,
): string {
  const parameters = new URLSearchParams({ ...added, ...(state === undefined ? {} : { state }), iss });
  return `${redirect_uri}${redirect_uri.includes('?') ? '&' : '?'}${parameters}`;
}
