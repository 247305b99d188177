// Single sign-on: the OAuth 2.0 endpoints that a provider calls at the platform (Extensions API, Platform endpoints and
// Sign-on).
import { z } from 'zod';
import { defineOperation } from './operation.ts';
import { unixSeconds } from './time.ts';

/** Extensions API, user_role and organizations: what a user may do in an organization. */
export const userRole = z.enum(['admin', 'member']);
export type UserRole = z.infer<typeof userRole>;

/** Extensions API, Platform endpoints, authorize (query). `organization_id` and `state`: DECISIONS.md, "Sign-on query". */
export const authorizeRequest = z.object({
  client_id: z.string().min(1),
  response_type: z.literal('code'),
  redirect_uri: z.string().min(1).max(2048),
  scope: z.literal('read').default('read'),
  organization_id: z.string().optional(),
  state: z.string().max(2048).optional(),
});
export type AuthorizeRequest = z.infer<typeof authorizeRequest>;

/** Extensions API, Platform endpoints, token (form fields). */
export const tokenRequest = z.object({
  client_id: z.string().min(1),
  client_secret: z.string().min(1),
  grant_type: z.literal('authorization_code'),
  code: z.string().min(1),
  redirect_uri: z.string().min(1).max(2048),
});
export type TokenRequest = z.infer<typeof tokenRequest>;

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

const tag = 'Sign-on';
const source = 'Extensions API, Platform endpoints';

export const signOnOperations = {
  authorizeSignOn: defineOperation({
    method: 'GET',
    path: '/oauth/authorize',
    summary: 'Ask the user, then redirect to the provider with an authorization code',
    source,
    tag,
    access: 'none',
    query: authorizeRequest,
    answer: { kind: 'raw' },
    errors: ['invalid_request', 'unauthorized'],
  }),
  exchangeToken: defineOperation({
    method: 'POST',
    path: '/oauth/token',
    summary: 'Exchange an authorization code for an access token',
    source,
    tag,
    access: 'none',
    body: tokenRequest,
    bodyType: 'form',
    answer: { kind: 'json', status: 200, schema: tokenResponse },
    errors: ['invalid_request', 'unauthorized'],
  }),
  readTokenInfo: defineOperation({
    method: 'GET',
    path: '/oauth/token/info',
    summary: 'Who the bearer of an access token is, and in which organizations',
    source,
    tag,
    access: 'any',
    answer: { kind: 'json', status: 200, schema: tokenInfo },
    errors: ['unauthorized'],
  }),
} as const;
