// Connectors by OAuth and by provisioning (Sandbox API, Connector request and response bodies and Endpoints).

import { accessPolicyRequest } from './access-policy.ts';
import { connectionResponse } from './connectors.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';

/**
 * Sent as a query. `scopes` replaces the default scopes, `add_scopes` adds to those already granted; both are separated by
 * commas.
 */
export const oauthAuthorizeRequest = z.object({
  scopes: z.string().optional(),
  add_scopes: z.string().optional(),
  redirect_uri: z.string().max(2048).optional(),
  state: z.string().max(2048).optional(),
});
export type OAuthAuthorizeRequest = z.infer<typeof oauthAuthorizeRequest>;

/** The caller passes `state` to the callback. */
export const oauthAuthorizeResponse = z.object({ authorize_url: z.string(), state: z.string() });
export type OAuthAuthorizeResponse = z.infer<typeof oauthAuthorizeResponse>;

export const oauthCallbackRequest = z.object({
  code: z.string().min(1).max(4096),
  redirect_uri: z.string().max(2048).optional(),
  state: z.string().max(2048).optional(),
  access_policy: accessPolicyRequest.optional(),
});
export type OAuthCallbackRequest = z.infer<typeof oauthCallbackRequest>;

export const provisionConnectionRequest = z.object({ provider: z.string().min(1).max(64) });
export type ProvisionConnectionRequest = z.infer<typeof provisionConnectionRequest>;

export const providerParams = z.object({ provider: z.string().min(1) });

/** What a provider appends to a redirect URI (RFC 6749, sections 4.1.2 and 4.1.2.1). */
export const oauthLandingRequest = z.object({
  code: z.string().max(4096).optional(),
  state: z.string().max(2048).optional(),
  error: z.string().max(256).optional(),
});

/**
 * The code and the state that the provider sent to the browser. Nothing has been exchanged yet: the user's program passes them
 * to the callback with its token (DECISIONS.md, "Default redirect URI").
 */
export const oauthLanding = z.object({
  provider: z.string(),
  code: z.string().optional(),
  state: z.string().optional(),
  error: z.string().optional(),
  message: z.string(),
});

const tag = 'Connectors';
const source = 'Sandbox API, Endpoints';
const access = 'organization';
const created = { kind: 'json', status: 201, schema: connectionResponse } as const;

export const oauthOperations = {
  provisionConnection: definePlatformOperation({
    method: 'POST',
    path: '/v1/oauth/connections/provision',
    summary: 'Create a connector with a key that the platform manages',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    body: provisionConnectionRequest,
    unsupported: ['access_policy', 'api_key', 'base_api_url'],
    answer: created,
    errors: ['invalid_request', 'unsupported_field', 'unauthorized', 'upstream_failed', 'upstream_timeout'],
  }),
  authorizeConnection: definePlatformOperation({
    method: 'GET',
    path: '/v1/oauth/{provider}/authorize',
    summary: 'Where to send the user to grant access at a provider',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: providerParams,
    query: oauthAuthorizeRequest,
    // Not a reading call, although a GET: the platform stores the state until the user is back.
    readOnly: false,
    noStore: true,
    answer: { kind: 'json', status: 200, schema: oauthAuthorizeResponse },
    errors: ['invalid_request', 'unauthorized', 'read_only', 'too_many_requests'],
  }),
  completeConnection: definePlatformOperation({
    method: 'POST',
    path: '/v1/oauth/{provider}/callback',
    summary: 'Exchange an authorization code for an encrypted connector',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access,
    params: providerParams,
    body: oauthCallbackRequest,
    answer: created,
    errors: ['invalid_request', 'unauthorized', 'record_altered', 'upstream_failed', 'upstream_timeout'],
  }),
  landOnCallback: definePlatformOperation({
    method: 'GET',
    path: '/v1/oauth/{provider}/callback',
    summary: 'Where a provider sends the user back unless told otherwise: shows what the POST of this path takes',
    source: 'Sandbox API, Connector request and response bodies',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'none',
    params: providerParams,
    query: oauthLandingRequest,
    noStore: true,
    answer: { kind: 'json', status: 200, schema: oauthLanding },
    errors: ['invalid_request'],
  }),
} as const;
