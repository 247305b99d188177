// Connectors: credentials for third-party providers, which an answer never shows (Sandbox API, Connection and Endpoints).

import { accessPolicy, accessPolicyRequest } from './access-policy.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** Sandbox API, Connection, `connection_type`. */
export const connectionType = z.enum(['oauth', 'api_key', 'provisioned', 'internal']);
export type ConnectionType = z.infer<typeof connectionType>;

/** Sandbox API, Connection, `notes`. Backticks in a body mark inline code. */
export const connectionNote = z.object({ title: z.string().nullable(), body: z.string() });
export type ConnectionNote = z.infer<typeof connectionNote>;

/**
 * Sandbox API, Connection (connector). Parsing drops every field that is not named here, so that no secret of a stored
 * connector gets into an answer.
 */
export const connection = z.object({
  id: z.string(),
  /** Remora's own field: the name is unique in the organization. */
  name: z.string().optional(),
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

/** Remora's own field: the name that people give a connector. The command line takes it in place of the id. */
export const connectorName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'expected 1 to 63 lower-case letters, digits and dashes, with no dash at either end',
  );

export const connectionResponse = z.object({ connection });
export type ConnectionResponse = z.infer<typeof connectionResponse>;

/** `denied` is sent to a sprite only: the connectors of its organization that it may not use, so that its agent can say so. */
export const connectionListResponse = z.object({
  connections: z.array(connection),
  denied: z.array(z.object({ id: z.string(), provider: z.string() })).optional(),
});
export type ConnectionListResponse = z.infer<typeof connectionListResponse>;

/** Sandbox API, Connector request and response bodies (query). */
export const listConnectionsRequest = z.object({ provider: z.string().optional() });
export type ListConnectionsRequest = z.infer<typeof listConnectionsRequest>;

/** Sandbox API, Connector request and response bodies. The catalogue of providers says which of them need `base_api_url`. */
export const apiKeyConnectionRequest = z.object({
  name: connectorName.optional(),
  provider: z.string().min(1).max(64),
  api_key: z.string().min(1).max(8192),
  base_api_url: z.string().max(2048).optional(),
  access_policy: accessPolicyRequest.optional(),
});
export type ApiKeyConnectionRequest = z.infer<typeof apiKeyConnectionRequest>;

/** Sandbox API, Connector request and response bodies: the policy is replaced as a whole. */
export const updateConnectionRequest = z
  .object({ access_policy: accessPolicyRequest.optional(), name: connectorName.nullable().optional() })
  .refine((change) => change.access_policy !== undefined || change.name !== undefined, {
    path: ['access_policy'],
    message: 'expected access_policy, name, or both',
  });
export type UpdateConnectionRequest = z.infer<typeof updateConnectionRequest>;

export const connectionParams = z.object({ id: z.string().min(1) });

const tag = 'Connectors';
const source = 'Sandbox API, Endpoints';
const connectionAnswer = { kind: 'json', status: 200, schema: connectionResponse } as const;

/**
 * These change only by deleting the connector and making it again. A new key that was silently dropped would look as if it were
 * in use.
 */
const replacedOnly = ['provider', 'api_key', 'base_api_url'];

export const connectorOperations = {
  listConnections: definePlatformOperation({
    method: 'GET',
    path: '/v1/oauth/connections',
    summary: 'List connectors, of one provider when named',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'every',
    query: listConnectionsRequest,
    answer: { kind: 'json', status: 200, schema: connectionListResponse },
    errors: ['unauthorized'],
  }),
  createApiKeyConnection: definePlatformOperation({
    method: 'POST',
    path: '/v1/oauth/connections/api_key',
    summary: 'Create a connector from an API key',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    body: apiKeyConnectionRequest,
    answer: { kind: 'json', status: 201, schema: connectionResponse },
    errors: ['invalid_request', 'unauthorized'],
  }),
  readConnection: definePlatformOperation({
    method: 'GET',
    path: '/v1/oauth/connections/{id}',
    summary: 'Read one connector',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'any',
    params: connectionParams,
    answer: connectionAnswer,
    errors: ['unauthorized', 'not_found'],
  }),
  updateConnection: definePlatformOperation({
    method: 'PATCH',
    path: '/v1/oauth/connections/{id}',
    summary: 'Replace the access policy of a connector, its name, or both',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: connectionParams,
    body: updateConnectionRequest,
    unsupported: replacedOnly,
    answer: connectionAnswer,
    errors: ['invalid_request', 'unsupported_field', 'unauthorized', 'not_found', 'conflict', 'record_altered'],
  }),
  replaceConnection: definePlatformOperation({
    method: 'PUT',
    path: '/v1/oauth/connections/{id}',
    summary: 'Replace the access policy of a connector; the same effect as PATCH',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: connectionParams,
    body: updateConnectionRequest,
    unsupported: replacedOnly,
    answer: connectionAnswer,
    errors: ['invalid_request', 'unsupported_field', 'unauthorized', 'not_found', 'conflict', 'record_altered'],
  }),
  deleteConnection: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/oauth/connections/{id}',
    summary: 'Delete a connector and its encrypted credentials',
    source,
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: connectionParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found'],
  }),
} as const;
