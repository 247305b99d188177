// The gateway on the local socket: calls through a connector, what may be called, why a call is refused, tokens for the
// loopback listener, and the audit log (Sandbox API, What the service does, 4).

import { accessPolicy } from '../access-policy.ts';
import { connectorOperations } from '../connectors.ts';
import { lifeDuration } from '../duration.ts';
import { gatewayConnection, gatewayListResponse, gatewayOperations as platformGateway } from '../gateway.ts';
import { gatewayDiscoveryOperations, gatewayDryRun, gatewayVerdict } from '../gateway-discovery.ts';
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { queryInteger } from '../query-values.ts';
import { dateTime } from '../time.ts';

const TOKEN_MIN_MS = 1_000;
const TOKEN_MAX_MS = 30 * 24 * 3_600_000;
const TOKEN_DEFAULT_MS = 3_600_000;
const PAGE_DEFAULT = 100;
const PAGE_MAX = 1_000;

/** A connector as a caller in this machine uses it. */
export const localConnection = gatewayConnection.extend({
  base_urls: z.object({
    /** The base address for calls over the Unix socket. */
    socket: z.string(),
    /**
     * The base address on the loopback listener, where a capability token is the API key; null when there is no such listener.
     */
    tcp: z.string().nullable(),
  }),
  snippets: z.object({ curl: z.string(), python: z.string(), node: z.string() }),
});
export type LocalConnection = z.infer<typeof localConnection>;

export const localListResponse = gatewayListResponse.extend({ connections: z.array(localConnection) });
export type LocalListResponse = z.infer<typeof localListResponse>;

export const explainRequest = z.object({
  provider: z.string(),
  connector_id: z.string(),
  method: z.string().default('GET'),
  /** The provider's path. It begins with a slash; a query may follow. */
  path: z.string().startsWith('/', 'expected a path that begins with "/"'),
  /** Headers of the call, to see which of them would be forwarded. */
  headers: z.record(z.string(), z.string()).default({}),
  /** Ask the platform as well: its verdict overrules the agent's. */
  platform: z.boolean().default(false),
});
export type ExplainRequest = z.infer<typeof explainRequest>;

export const gatewayExplanation = z.object({
  decision: gatewayVerdict,
  /** The error code that a call would get; absent when it would be forwarded. */
  code: z.string().optional(),
  message: z.string(),
  /** The rule of the policy that decided, as it is written there; null when none did. */
  rule: z.string().nullable(),
  /** The reading of the path that decided; null when no path was judged. */
  reading: z.string().nullable(),
  /** The path in its barest reading: decoded, slashes merged, parameters dropped; null when it has none. */
  canonical: z.string().nullable(),
  /**
   * The request that the provider would get, with the caller's own bytes; null when it would get none. Headers are listed by
   * name, those that the gateway adds last.
   */
  forwarded: z.object({ method: z.string(), path: z.string(), headers: z.array(z.string()) }).nullable(),
  sprite: z.object({ name: z.string(), labels: z.array(z.string()) }).nullable(),
  policy: accessPolicy.nullable(),
  policy_age_ms: z.int().nullable(),
  /** The verdict of the platform, when the request asked for it. */
  platform: gatewayDryRun.optional(),
});
export type GatewayExplanation = z.infer<typeof gatewayExplanation>;

export const gatewayTokenRequest = z.object({
  /** The only connector that the token opens; absent = every one, and the reading operations. */
  connector_id: z.string().min(1).max(256).optional(),
  /** Seconds, or text such as "30m"; an hour unless said otherwise, at most 30 days. */
  expire: lifeDuration(TOKEN_MIN_MS, TOKEN_MAX_MS, '30 days').default(TOKEN_DEFAULT_MS),
});

/** A new token. Its text is shown in this answer and nowhere else. */
export const gatewayToken = z.object({
  id: z.string(),
  token: z.string(),
  connector_id: z.string().nullable(),
  expires_at: dateTime,
});

/** What is known of a token later: everything but its text. */
export const gatewayTokenRecord = gatewayToken.omit({ token: true });
export const gatewayTokenList = z.object({ tokens: z.array(gatewayTokenRecord) });

/** One call of the gateway. It never holds a header, a query or a body. */
export const gatewayRecord = z.object({
  seq: z.int().positive(),
  /** The time of the first call, where several are counted together. */
  time: dateTime,
  /**
   * How many calls this record stands for: more than one only for equal refusals, which are counted together for ten seconds.
   */
  count: z.int().positive(),
  provider: z.string(),
  connector_id: z.string(),
  method: z.string(),
  /** The path as it was judged, without its query. */
  path: z.string(),
  decision: gatewayVerdict,
  /** Remora's own error code, when the call was refused or failed. */
  code: z.string().nullable(),
  rule: z.string().nullable(),
  /** The status of the answer that the caller got; null when the caller went away before. */
  status: z.int().nullable(),
  /** How the exchange ended; null when nothing was forwarded. */
  ended: z.enum(['complete', 'caller_gone', 'upstream_broke', 'cut']).nullable(),
  request_bytes: z.int().nonnegative(),
  response_bytes: z.int().nonnegative(),
  ms: z.int().nonnegative(),
  /** Whether the provider said how many tokens the call has used, in JSON or in events that are not compressed. */
  usage_known: z.boolean(),
  input_tokens: z.int().nonnegative().nullable(),
  output_tokens: z.int().nonnegative().nullable(),
});
export type GatewayRecord = z.infer<typeof gatewayRecord>;

export const gatewayLog = z.object({
  records: z.array(gatewayRecord),
  /** The value of `after` for the next page; null when this page is empty. */
  next: z.int().nullable(),
  /** How many records could not be kept since the start. */
  lost: z.int().nonnegative(),
});

const tag = 'gateway';

export const gatewayOperations = {
  listGateway: defineLocalOperation({
    ...platformGateway.listGateway,
    tag,
    servedAt: ['socket', 'loopback'],
    summary: 'The connectors that this sprite may use, with base URLs and lines that work as pasted',
    source: 'Remora; Sprites API',
    access: 'none',
    answer: { kind: 'json', status: 200, schema: localListResponse },
    errors: ['not_configured', 'policy_unavailable'],
  }),
  explainGateway: defineLocalOperation({
    method: 'POST',
    path: '/v1/gateway/explain',
    summary: 'What the gateway would do with a call, with the rule and the reading of the path that decided',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    body: explainRequest,
    answer: { kind: 'json', status: 200, schema: gatewayExplanation },
    errors: ['invalid_request', 'not_configured', 'upstream_failed', 'upstream_timeout'],
  }),
  listProviders: defineLocalOperation({
    ...gatewayDiscoveryOperations.listProviders,
    tag,
    servedAt: ['socket', 'loopback'],
    access: 'none',
    errors: ['not_configured', 'upstream_failed', 'upstream_timeout'],
  }),
  gatewayGuide: defineLocalOperation({
    ...gatewayDiscoveryOperations.gatewayGuide,
    tag,
    servedAt: ['socket', 'loopback'],
    access: 'none',
    errors: ['not_configured', 'policy_unavailable'],
  }),
  createGatewayToken: defineLocalOperation({
    method: 'POST',
    path: '/v1/gateway/tokens',
    summary: 'A token for the loopback listener, for one connector or all of them',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    body: gatewayTokenRequest.optional(),
    answer: { kind: 'json', status: 201, schema: gatewayToken },
    errors: ['invalid_request', 'not_configured', 'too_many_requests', 'unknown_connector'],
  }),
  listGatewayTokens: defineLocalOperation({
    method: 'GET',
    path: '/v1/gateway/tokens',
    summary: 'The capability tokens that are good now, without their text',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    answer: { kind: 'json', status: 200, schema: gatewayTokenList },
    errors: [],
  }),
  revokeGatewayToken: defineLocalOperation({
    method: 'DELETE',
    path: '/v1/gateway/tokens/{id}',
    summary: 'End a capability token, and the calls that were begun with it',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    params: z.object({ id: z.string().min(1).max(64) }),
    answer: { kind: 'empty', status: 204 },
    errors: ['not_found'],
  }),
  gatewayLog: defineLocalOperation({
    method: 'GET',
    path: '/v1/gateway/log',
    summary: 'What was called and what was decided, oldest first; without `after` the newest',
    source: 'Remora',
    tag,
    servedAt: ['socket'],
    query: z.object({
      limit: queryInteger(1, PAGE_MAX).default(PAGE_DEFAULT),
      after: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
    }),
    answer: { kind: 'json', status: 200, schema: gatewayLog },
    errors: ['invalid_request'],
  }),
  gateway: defineLocalOperation({
    ...platformGateway.gateway,
    tag,
    servedAt: ['socket', 'loopback'],
    summary: 'Call a provider through a connector; no credential is needed, the path reaches it byte for byte',
    source: 'Sandbox API, What the service does',
    access: 'none',
    errors: [
      ...platformGateway.gateway.errors,
      'invalid_request',
      'forbidden',
      'not_configured',
      'not_implemented',
      'policy_unavailable',
      'resuming',
      'suspending',
    ],
  }),
  listConnections: defineLocalOperation({
    ...connectorOperations.listConnections,
    tag,
    servedAt: ['socket'],
    summary: "The platform's list of connectors, from the agent's cache; the Age header says how old it is",
    access: 'none',
    errors: ['not_configured', 'policy_unavailable'],
  }),
  readConnection: defineLocalOperation({
    ...connectorOperations.readConnection,
    tag,
    servedAt: ['socket'],
    summary: "One connector as the platform shows it, from the agent's cache",
    access: 'none',
    errors: ['not_configured', 'policy_unavailable', 'not_found'],
  }),
} as const;
