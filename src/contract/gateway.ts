// The gateway: provider calls through a connector (Sandbox API, What the service does, 4; the paths are those of the Sprites
// API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';

/** A connector that the calling sprite may use. `id` is Remora's own field: the id that `gateway_base_url` ends with. */
export const gatewayConnection = z.object({
  id: z.string(),
  /** Remora's own field: the name that people gave the connector, if any. */
  name: z.string().optional(),
  provider: z.string(),
  display_name: z.string(),
  description: z.string().optional(),
  gateway_base_url: z.string(),
  scopes: z.string().optional(),
  usage_snippet: z.string().optional(),
  request_scopes_url: z.string().optional(),
});
export type GatewayConnection = z.infer<typeof gatewayConnection>;

/** A provider for which the organization could set up a connector. */
export const gatewayAvailable = z.object({
  provider: z.string(),
  display_name: z.string(),
  description: z.string().optional(),
  setup_url: z.string(),
});
export type GatewayAvailable = z.infer<typeof gatewayAvailable>;

export const gatewayListResponse = z.object({
  connections: z.array(gatewayConnection),
  available: z.array(gatewayAvailable),
});
export type GatewayListResponse = z.infer<typeof gatewayListResponse>;

/**
 * One line of the stream of changes: `hello` at once, then `changed` whenever a connector, a policy or the sprite itself has
 * changed. `version` is opaque; equal versions mean equal state.
 */
export const gatewayChange = z.object({ type: z.enum(['hello', 'changed']), version: z.string().max(128) });
export type GatewayChange = z.infer<typeof gatewayChange>;

export const gatewayOperations = {
  listGateway: definePlatformOperation({
    method: 'GET',
    path: '/v1/gateway/list',
    summary: 'The connectors that the calling sprite may use, and the providers that could be set up',
    source: 'Sprites API',
    tag: 'Gateway',
    servedAt: ['tcp', 'operator'],
    access: 'every',
    answer: { kind: 'json', status: 200, schema: gatewayListResponse },
    errors: ['unauthorized', 'incarnation_conflict', 'rewound'],
  }),
  watchGateway: definePlatformOperation({
    method: 'GET',
    path: '/v1/gateway/changes',
    summary:
      'Says when a connector, a policy, the labels of the calling sprite or the secrets of its app have changed, so that its agent asks again',
    source: 'Remora',
    tag: 'Gateway',
    servedAt: ['tcp'],
    access: 'agent',
    query: z.object({
      /** The last version that the caller has acted on. When it is not the current one, `changed` follows `hello` at once. */
      since: z.string().max(128).optional(),
    }),
    answer: { kind: 'stream', status: 200, schema: gatewayChange },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
  gateway: definePlatformOperation({
    method: '*',
    path: '/v1/gateway/{provider}/{connector_id}/{path...}',
    summary: 'Call a provider through a connector; the path reaches it byte for byte, the credential is put in',
    source: 'Sandbox API, What the service does',
    tag: 'Gateway',
    servedAt: ['tcp'],
    access: 'every',
    answer: { kind: 'raw', upgrades: true },
    errors: [
      'invalid_target',
      'unauthorized',
      'connection_denied',
      'endpoint_blocked',
      'endpoint_not_allowed',
      'unknown_connector',
      'method_not_allowed',
      'incarnation_conflict',
      'rewound',
      'record_altered',
      'payload_too_large',
      'target_too_long',
      'too_many_requests',
      'upstream_failed',
      'outcome_unknown',
      'upstream_timeout',
    ],
  }),
} as const;
