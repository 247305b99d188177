// Single sign-on: the OAuth 2.0 endpoints that a provider calls at the platform (Extensions API, Platform endpoints and
// Sign-on).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { unixSeconds } from './time.ts';

/** Extensions API, user_role and organizations: what a user may do in an organization. */
export const userRole = z.enum(['admin', 'member']);
export type UserRole = z.infer<typeof userRole>;

/**
 * Extensions API, Platform endpoints, authorize (query). `organization_id`, `state`: DECISIONS.md, "Sign-on query";
 * `code_challenge`: DECISIONS.md, "Sign-on with a code verifier".
 */
export const authorizeRequest = z.object({
  client_id: z.string().min(1),
  response_type: z.literal('code'),
  redirect_uri: z.string().min(1).max(2048),
  scope: z.literal('read').default('read'),
  organization_id: z.string().optional(),
  state: z.string().max(2048).optional(),
  code_challenge: z.string().optional(),
  code_challenge_method: z.literal('S256').optional(),
});
export type AuthorizeRequest = z.infer<typeof authorizeRequest>;

const text = z.string().max(2048).optional();

/**
 * The same query as it arrives: what is wrong with it is told to the provider by a redirect where its address is known, and to the
 * user otherwise.
 */
export const authorizeQuery = z.object({
  client_id: text,
  response_type: text,
  redirect_uri: text,
  scope: text,
  organization_id: text,
  state: text,
  code_challenge: text,
  code_challenge_method: text,
});
export type AuthorizeQuery = z.infer<typeof authorizeQuery>;

/** What the pages of sign-on send. `form_token` shows that the page was made for this browser. */
export const authorizeForm = z.object({
  action: z.enum(['sign_in', 'allow', 'deny']),
  form_token: z.string().max(256),
  email: z.string().max(320).optional(),
  password: z.string().max(1024).optional(),
});
export type AuthorizeForm = z.infer<typeof authorizeForm>;

export const signOutForm = z.object({ form_token: z.string().max(256) });

/** What an OpenID provider sends back with the browser. */
export const signInReturn = z.object({
  code: text,
  state: text,
  error: text,
  error_description: text,
  iss: text,
});

/** Extensions API, Platform endpoints, token (form fields). */
export const tokenRequest = z.object({
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  grant_type: z.literal('authorization_code'),
  code: z.string().min(1),
  redirect_uri: z.string().min(1).max(2048),
});
export type TokenRequest = z.infer<typeof tokenRequest>;

/** The same form as it arrives, with a refresh or a code verifier; the client may name itself by Basic authentication instead. */
export const tokenForm = z.object({
  client_id: text,
  client_secret: text,
  grant_type: text,
  code: text,
  redirect_uri: text,
  refresh_token: text,
  code_verifier: text,
  scope: text,
});
export type TokenForm = z.infer<typeof tokenForm>;

/** RFC 7009, Token Revocation: an access token or a refresh token. */
export const revokeForm = z.object({ client_id: text, client_secret: text, token: text, token_type_hint: text });
export type RevokeForm = z.infer<typeof revokeForm>;

/** Extensions API, Token response (sign-on). `expires_in` in seconds. */
export const tokenResponse = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int().nonnegative(),
  refresh_token: z.string(),
  scope: z.string(),
  created_at: unixSeconds,
});
export type TokenResponse = z.infer<typeof tokenResponse>;

/** Extensions API, Token introspection response. `expires_in` in seconds. */
export const tokenInfo = z.object({
  resource_owner_id: z.string(),
  user_id: z.string(),
  user_name: z.string(),
  email: z.string(),
  organizations: z.array(z.object({ id: z.string(), role: userRole })),
  scope: z.array(z.string()),
  expires_in: z.int().nonnegative(),
  application: z.object({ uid: z.string() }),
  created_at: unixSeconds,
});
export type TokenInfo = z.infer<typeof tokenInfo>;

/** RFC 8414, OAuth 2.0 Authorization Server Metadata. */
export const signOnMetadata = z.object({
  issuer: z.url(),
  authorization_endpoint: z.url(),
  token_endpoint: z.url(),
  revocation_endpoint: z.url(),
  scopes_supported: z.array(z.string()),
  response_types_supported: z.array(z.string()),
  response_modes_supported: z.array(z.string()),
  grant_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
  revocation_endpoint_auth_methods_supported: z.array(z.string()),
  code_challenge_methods_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean(),
});
export type SignOnMetadata = z.infer<typeof signOnMetadata>;

/** Nothing that these pages and forms send is longer. */
const FORM = { cap_bytes: 16 * 1024 } as const;

const tag = 'Sign-on';
const source = 'Extensions API, Platform endpoints';
const servedAt = ['tcp'] as const;
const access = 'none';

export const signOnOperations = {
  authorizeSignOn: definePlatformOperation({
    method: 'GET',
    path: '/oauth/authorize',
    summary: 'Ask the user in the browser, then redirect to the provider with an authorization code',
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    query: authorizeQuery,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'too_many_requests'],
  }),
  submitSignOn: definePlatformOperation({
    method: 'POST',
    path: '/oauth/authorize',
    summary: 'What the pages of sign-on send: email address and password, consent, or its denial',
    source: `${source} (pages not shown)`,
    tag,
    servedAt,
    access,
    noStore: true,
    query: authorizeQuery,
    body: authorizeForm,
    bodyType: 'form',
    rawBody: FORM,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'too_many_requests', 'payload_too_large', 'unsupported_media_type'],
  }),
  beginSignIn: definePlatformOperation({
    method: 'GET',
    path: '/oauth/sign-in',
    summary: 'Send the browser to the OpenID provider of this platform, where there is one, to sign in there',
    source: 'Remora',
    tag,
    servedAt,
    access,
    noStore: true,
    query: authorizeQuery,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'too_many_requests'],
  }),
  landOnSignIn: definePlatformOperation({
    method: 'GET',
    path: '/oauth/sign-in/callback',
    summary: 'Where the OpenID provider sends the browser back',
    source: 'Remora',
    tag,
    servedAt,
    access,
    noStore: true,
    query: signInReturn,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'too_many_requests'],
  }),
  exchangeToken: definePlatformOperation({
    method: 'POST',
    path: '/oauth/token',
    summary: 'Exchange an authorization code or a refresh token for an access token',
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    body: tokenForm,
    bodyType: 'form',
    rawBody: FORM,
    answer: { kind: 'json', status: 200, schema: tokenResponse },
    errors: [
      'invalid_request',
      'invalid_client',
      'invalid_grant',
      'invalid_scope',
      'unsupported_grant_type',
      'too_many_requests',
      'payload_too_large',
      'unsupported_media_type',
    ],
  }),
  readTokenInfo: definePlatformOperation({
    method: 'GET',
    path: '/oauth/token/info',
    summary: 'Who the bearer of an access token is, and in which organizations',
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    answer: { kind: 'json', status: 200, schema: tokenInfo },
    errors: ['invalid_token', 'too_many_requests'],
  }),
  revokeSignOn: definePlatformOperation({
    method: 'POST',
    path: '/oauth/revoke',
    summary: 'End a sign-on, by its access token or its refresh token; one that is not known has ended already',
    source: 'Remora',
    tag,
    servedAt,
    access,
    body: revokeForm,
    bodyType: 'form',
    rawBody: FORM,
    answer: { kind: 'json', status: 200, schema: z.object({}) },
    errors: [
      'invalid_request',
      'invalid_client',
      'unauthorized_client',
      'too_many_requests',
      'payload_too_large',
      'unsupported_media_type',
    ],
  }),
  showSignOut: definePlatformOperation({
    method: 'GET',
    path: '/oauth/sign-out',
    summary: 'The page on which a user signs out in this browser',
    source: 'Remora',
    tag,
    servedAt,
    access,
    noStore: true,
    answer: { kind: 'raw' },
    errors: ['too_many_requests'],
  }),
  signOut: definePlatformOperation({
    method: 'POST',
    path: '/oauth/sign-out',
    summary: 'Sign out in this browser; sign-ons at providers go on',
    source: 'Remora',
    tag,
    servedAt,
    access,
    noStore: true,
    body: signOutForm,
    bodyType: 'form',
    rawBody: FORM,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'too_many_requests', 'payload_too_large', 'unsupported_media_type'],
  }),
  readSignOnMetadata: definePlatformOperation({
    method: 'GET',
    path: '/.well-known/oauth-authorization-server',
    summary: 'Where sign-on is served and what it can do, for OAuth clients',
    source: 'Remora',
    tag,
    servedAt,
    access,
    answer: { kind: 'json', status: 200, schema: signOnMetadata },
    errors: [],
  }),
} as const;
