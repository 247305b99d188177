// Finding and understanding the gateway without knowing it: what it would do with a call, which providers there are, and a guide for
// language models (DECISIONS.md, "Dry run of a gateway call" and "Discovery of the gateway").

import { accessPolicy } from './access-policy.ts';
import { connectionNote } from './connectors.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';

/** `allow`: it would be forwarded. `deny`: the policy refuses it. `reject`: refused before any policy was asked, or for another reason. */
export const gatewayVerdict = z.enum(['allow', 'deny', 'reject']);
export type GatewayVerdict = z.infer<typeof gatewayVerdict>;

/** The call that is asked about: either the `url` as it would be called, or its three parts. */
export const dryRunRequest = z
  .object({
    method: z.string().max(64).default('GET'),
    /** `/v1/gateway/{provider}/{connector_id}/{path}`, with or without an origin before it; read as it is written. */
    url: z.string().max(16_384).optional(),
    provider: z.string().optional(),
    connector_id: z.string().optional(),
    /** The provider's path. It begins with a slash; a query may follow. */
    path: z.string().max(16_384).startsWith('/', 'expected a path that begins with "/"').optional(),
    /** Headers of the call, to see which of them would be forwarded. */
    headers: z.record(z.string(), z.string()).default({}),
    /** The sprite that would call. Only the token of an organization may name one. */
    sprite: z.string().optional(),
  })
  .refine(({ url, provider, connector_id, path }) => {
    const parts = [provider, connector_id, path].filter((part) => part !== undefined).length;
    return url === undefined ? parts === 3 : parts === 0;
  }, 'expected url, or provider, connector_id and path');
export type DryRunRequest = z.infer<typeof dryRunRequest>;

/** Where a credential goes: a header or a query parameter of this name, or the first segment of the path. */
export const credentialPlace = z.object({
  in: z.enum(['header', 'query', 'path']),
  name: z.string().nullable(),
});
export type CredentialPlace = z.infer<typeof credentialPlace>;

export const gatewayDryRun = z.object({
  decision: gatewayVerdict,
  /** The error code and message that the call would get now; both absent when it would be forwarded. */
  code: z.string().optional(),
  status: z.int().optional(),
  message: z.string(),
  /** The rule of the policy that decided, as it is written there; null when none did. */
  rule: z.string().nullable(),
  /** The reading of the path that decided; null when no path was judged. */
  reading: z.string().nullable(),
  /** The path in its barest reading: decoded, slashes merged, parameters dropped; null when it has none. */
  canonical: z.string().nullable(),
  /** The request that the provider would get, with `(credential)` in place of the credential; null when it would get none. */
  forwarded: z
    .object({
      method: z.string(),
      url: z.string(),
      /** Listed in the order in which they are sent; those that the gateway adds come last. */
      headers: z.array(z.object({ name: z.string(), value: z.string() })),
      injection: credentialPlace,
      /** Whether the platform would first ask the provider for another token. */
      renews_token: z.boolean(),
    })
    .nullable(),
  /** The sprite that would call; null when the token of an organization names none. */
  sprite: z.object({ name: z.string(), labels: z.array(z.string()) }).nullable(),
  /** The policy of the connector; null when it has none, or when the connector is not known. */
  policy: accessPolicy.nullable(),
});
export type GatewayDryRun = z.infer<typeof gatewayDryRun>;

export const gatewayProvider = z.object({
  provider: z.string(),
  display_name: z.string(),
  description: z.string(),
  /** `{connector_id}` stands for the id of a connector. */
  gateway_base_url: z.string(),
  /** The provider's own address behind it; null where each connector brings its own. */
  provider_base_url: z.string().nullable(),
  docs_url: z.string().optional(),
  /** The page of the provider on which a key is made. */
  setup_url: z.string().optional(),
  /** The ways in which a connector of this provider can be made on this platform, as it is configured. */
  connect: z.array(z.enum(['api_key', 'oauth', 'provision'])),
  /** The OAuth scopes that are asked for unless the request names others; absent without OAuth. */
  scopes: z.array(z.string()).optional(),
  credential: credentialPlace,
  usage_snippet: z.string(),
  notes: z.array(connectionNote),
  /** The ids of the connectors that the caller may use; an organization gets all of its connectors. */
  connectors: z.array(z.string()),
});
export type GatewayProvider = z.infer<typeof gatewayProvider>;

export const gatewayProviderList = z.object({ providers: z.array(gatewayProvider) });
export type GatewayProviderList = z.infer<typeof gatewayProviderList>;

const tag = 'Gateway';

export const gatewayDiscoveryOperations = {
  explainCall: definePlatformOperation({
    method: 'POST',
    path: '/v1/gateway/explain',
    summary: 'What the gateway would do with a call, and what the provider would get; nothing is sent',
    source: 'Remora',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'every',
    readOnly: true,
    body: dryRunRequest,
    answer: { kind: 'json', status: 200, schema: gatewayDryRun },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'incarnation_conflict', 'rewound'],
  }),
  listProviders: definePlatformOperation({
    method: 'GET',
    path: '/v1/gateway/providers',
    summary: 'Every provider of the catalogue: how it is called, how a connector is made, which ones can be used now',
    source: 'Remora',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'every',
    query: z.object({ provider: z.string().optional() }),
    answer: { kind: 'json', status: 200, schema: gatewayProviderList },
    errors: ['unauthorized', 'incarnation_conflict', 'rewound'],
  }),
  gatewayGuide: definePlatformOperation({
    method: 'GET',
    path: '/v1/gateway/guide',
    summary: 'How to use the gateway, for language models and people, with the connectors that the caller may use',
    source: 'Remora',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'any',
    answer: { kind: 'text', status: 200, type: 'text/markdown; charset=utf-8' },
    errors: ['unauthorized', 'incarnation_conflict', 'rewound'],
  }),
} as const;
