// Connectors by OAuth and by provisioning (document 1, "Connector request and response bodies" and "Endpoints").
import { z } from 'zod';
import { accessPolicyRequest } from './access-policy.ts';
import { connectionResponse } from './connectors.ts';
import { defineOperation } from './operation.ts';

/** Query. `scopes` replaces the default scopes, `add_scopes` adds to those already granted; both separated by commas. */
export const oauthAuthorizeRequest = z.object({
  scopes: z.string().optional(),
  add_scopes: z.string().optional(),
  redirect_uri: z.string().max(2048).optional(),
  state: z.string().max(2048).optional(),
});
export type OAuthAuthorizeRequest = z.infer<typeof oauthAuthorizeRequest>;

/** `state` must be sent back to the callback. */
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

/** Nothing has happened yet: whoever sees it sends code and state on, with a token (choices.ts, "default redirect URI"). */
export const oauthLanding = z.object({
  provider: z.string(),
  code: z.string().optional(),
  state: z.string().optional(),
  error: z.string().optional(),
  message: z.string(),
});

const tag = 'Connectors';
const source = 'document 1, Endpoints';
const access = 'organization';
const created = { kind: 'json', status: 201, schema: connectionResponse } as const;

export const oauthOperations = {
  provisionConnection: defineOperation({
    method: 'POST',
    path: '/v1/oauth/connections/provision',
    summary: 'Create a connector with a key that the platform manages',
    source,
    tag,
    access,
    body: provisionConnectionRequest,
    answer: created,
    errors: ['invalid_request', 'unauthorized', 'upstream_failed', 'upstream_timeout'],
  }),
  authorizeConnection: defineOperation({
    method: 'GET',
    path: '/v1/oauth/{provider}/authorize',
    summary: 'Where to send the user to grant access at a provider',
    source,
    tag,
    access,
    params: providerParams,
    query: oauthAuthorizeRequest,
    answer: { kind: 'json', status: 200, schema: oauthAuthorizeResponse },
    errors: ['invalid_request', 'unauthorized'],
  }),
  completeConnection: defineOperation({
    method: 'POST',
    path: '/v1/oauth/{provider}/callback',
    summary: 'Exchange an authorization code for an encrypted connector',
    source,
    tag,
    access,
    params: providerParams,
    body: oauthCallbackRequest,
    answer: created,
    errors: ['invalid_request', 'unauthorized', 'upstream_failed', 'upstream_timeout'],
  }),
  landOnCallback: defineOperation({
    method: 'GET',
    path: '/v1/oauth/{provider}/callback',
    summary: 'Where a provider sends the user back unless told otherwise: shows what the POST of this path takes',
    source: 'document 1, Connector request and response bodies ("defaults to the service callback")',
    tag,
    access: 'none',
    params: providerParams,
    query: oauthLandingRequest,
    answer: { kind: 'json', status: 200, schema: oauthLanding },
    errors: ['invalid_request'],
  }),
} as const;
