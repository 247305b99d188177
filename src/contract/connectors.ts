// Connectors: credentials for third-party providers, which an answer never shows (document 1, "Connection" and "Endpoints").
import { z } from 'zod';
import { accessPolicy, accessPolicyRequest } from './access-policy.ts';
import { defineOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** Document 1, "Connection", `connection_type`. */
export const connectionType = z.enum(['oauth', 'api_key', 'provisioned', 'internal']);
export type ConnectionType = z.infer<typeof connectionType>;

/** Document 1, "Connection", `notes`. Backticks in a body mark inline code. */
export const connectionNote = z.object({ title: z.string().nullable(), body: z.string() });
export type ConnectionNote = z.infer<typeof connectionNote>;

/**
 * Document 1, "Connection (connector)". Parsing drops every field that is not named here, so that no secret of a stored
 * connector passes it.
 */
export const connection = z.object({
  id: z.string(),
  provider: z.string(),
  provider_account_id: z.string(),
  provider_account_name: z.string().optional(),
  access_policy: accessPolicy.optional(),
  connection_type: connectionType.optional(),
  inserted_at: dateTime.optional(),
  updated_at: dateTime.optional(),
  token_expires_at: dateTime.optional(),
  scopes: z.string().optional(),
  notes: z.array(connectionNote).optional(),
  provider_info: z.record(z.string(), z.unknown()).optional(),
  usage_snippet: z.string().optional(),
  user_id: z.string().optional(),
});
export type Connection = z.infer<typeof connection>;

export const connectionResponse = z.object({ connection });
export type ConnectionResponse = z.infer<typeof connectionResponse>;

export const connectionListResponse = z.object({ connections: z.array(connection) });
export type ConnectionListResponse = z.infer<typeof connectionListResponse>;

/** Document 1, "Connector request and response bodies" (query). */
export const listConnectionsRequest = z.object({ provider: z.string().optional() });
export type ListConnectionsRequest = z.infer<typeof listConnectionsRequest>;

/** Document 1, "Connector request and response bodies". Which providers need `base_api_url` is the catalogue's to say. */
export const apiKeyConnectionRequest = z.object({
  provider: z.string().min(1).max(64),
  api_key: z.string().min(1).max(8192),
  base_api_url: z.string().max(2048).optional(),
  access_policy: accessPolicyRequest.optional(),
});
export type ApiKeyConnectionRequest = z.infer<typeof apiKeyConnectionRequest>;

/** Document 1, "Connector request and response bodies": the policy is replaced as a whole. */
export const updateConnectionRequest = z.object({ access_policy: accessPolicyRequest });
export type UpdateConnectionRequest = z.infer<typeof updateConnectionRequest>;

export const connectionParams = z.object({ id: z.string().min(1) });

const tag = 'Connectors';
const source = 'document 1, Endpoints';
const connectionAnswer = { kind: 'json', status: 200, schema: connectionResponse } as const;

export const connectorOperations = {
  listConnections: defineOperation({
    method: 'GET',
    path: '/v1/oauth/connections',
    summary: 'List connectors, of one provider when named',
    source,
    tag,
    access: 'any',
    query: listConnectionsRequest,
    answer: { kind: 'json', status: 200, schema: connectionListResponse },
    errors: ['unauthorized'],
  }),
  createApiKeyConnection: defineOperation({
    method: 'POST',
    path: '/v1/oauth/connections/api_key',
    summary: 'Create a connector from an API key',
    source,
    tag,
    access: 'organization',
    body: apiKeyConnectionRequest,
    answer: { kind: 'json', status: 201, schema: connectionResponse },
    errors: ['invalid_request', 'unauthorized'],
  }),
  readConnection: defineOperation({
    method: 'GET',
    path: '/v1/oauth/connections/{id}',
    summary: 'Read one connector',
    source,
    tag,
    access: 'any',
    params: connectionParams,
    answer: connectionAnswer,
    errors: ['unauthorized', 'not_found'],
  }),
  updateConnection: defineOperation({
    method: 'PATCH',
    path: '/v1/oauth/connections/{id}',
    summary: 'Replace the access policy of a connector',
    source,
    tag,
    access: 'organization',
    params: connectionParams,
    body: updateConnectionRequest,
    answer: connectionAnswer,
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  replaceConnection: defineOperation({
    method: 'PUT',
    path: '/v1/oauth/connections/{id}',
    summary: 'Replace the access policy of a connector; the same effect as PATCH',
    source,
    tag,
    access: 'organization',
    params: connectionParams,
    body: updateConnectionRequest,
    answer: connectionAnswer,
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  deleteConnection: defineOperation({
    method: 'DELETE',
    path: '/v1/oauth/connections/{id}',
    summary: 'Delete a connector and its encrypted credentials',
    source,
    tag,
    access: 'organization',
    params: connectionParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found'],
  }),
} as const;
