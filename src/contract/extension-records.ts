// Extensions as the platform keeps them: resources at providers, from the request to the removal (Extensions API, What the service does).

import { appName } from './app-name.ts';
import { extensionProviderName } from './extension-providers.ts';
import { extensionResource } from './extension-webhooks.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryBoolean, queryInteger } from './query-values.ts';
import { dateTime } from './time.ts';

/**
 * Ours; the `status` of a resource is the word of its provider. `requested`: not asked for yet. `provisioning`: asked for, and not ready.
 * `updating`: a change is on its way. `failed`: `error` says why, and `retry` tries again. `deleting`: until the provider says that it is
 * gone.
 */
export const extensionState = z.enum([
  'requested',
  'provisioning',
  'ready',
  'updating',
  'failed',
  'deleting',
  'deleted',
]);
export type ExtensionState = z.infer<typeof extensionState>;

/** A label of DNS, which no other extension of the platform has. */
export const extensionName = extensionProviderName;

const region = z.string().regex(/^[a-z]{3}$/, 'expected three lower-case letters');
const readRegions = z.array(region).max(32);

/** What is wrong: a code, and words for people, which may be those of the provider. */
export const extensionTrouble = z.object({ code: z.string(), message: z.string(), at: dateTime });
export type ExtensionTrouble = z.infer<typeof extensionTrouble>;

/**
 * `variables`: the names of what the provider has set for the app; values are in no answer. `sso_url`: where a browser signs on at the
 * provider. `unrequested`: the provider made it by itself. `error` of an extension that is not `failed` is what is being tried again, or
 * why the last change was refused. `ip_address`: where the machines of the organization reach the services of `platform_app_name`; null where
 * the provider does not run on this platform, or machines have no network of their own. `resource`: the provider's last word, in the answer for one extension only.
 */
export const extensionRecord = z.object({
  id: z.string(),
  name: z.string(),
  provider: z.string(),
  organization: z.string(),
  state: extensionState,
  status: z.string().nullable(),
  plan: z.string().nullable(),
  provider_id: z.string().nullable(),
  app: z.string().nullable(),
  user_id: z.string().nullable(),
  primary_region: z.string().nullable(),
  read_regions: z.array(z.string()),
  ip_address: z.string().nullable().optional(),
  platform_app_name: z.string().nullable(),
  unrequested: z.boolean(),
  variables: z.array(z.string()),
  sso_url: z.string().nullable(),
  error: extensionTrouble.nullable(),
  created_at: dateTime,
  updated_at: dateTime,
  resource: extensionResource.optional(),
});
export type ExtensionRecord = z.infer<typeof extensionRecord>;

/**
 * `user_id` is that of the token when absent; it must be a member of the organization. `private_address`: refuse the extension where it can
 * have none; it gets one wherever it can.
 */
export const createExtensionRequest = z.object({
  provider: z.string().min(1).max(63),
  name: extensionName,
  app: appName.optional(),
  user_id: z.string().min(1).max(256).optional(),
  primary_region: region.optional(),
  read_regions: readRegions.optional(),
  private_address: z.boolean().optional(),
});
export type CreateExtensionRequest = z.infer<typeof createExtensionRequest>;

/** What is absent stays as it is; null takes it away. */
export const updateExtensionRequest = z.object({
  app: appName.nullable().optional(),
  primary_region: region.nullable().optional(),
  read_regions: readRegions.optional(),
});
export type UpdateExtensionRequest = z.infer<typeof updateExtensionRequest>;

/** Those that are deleted are left out. */
export const listExtensionsRequest = z.object({
  max_results: queryInteger(1, 500).default(100),
  continuation_token: z.string().max(128).optional(),
});

export const extensionListResponse = z.object({
  extensions: z.array(extensionRecord),
  next_continuation_token: z.string().optional(),
});

/** `refresh`: the provider is asked first, for at most 5 s. */
export const readExtensionRequest = z.object({ refresh: queryBoolean().default(false) });

/** What came of a webhook. `repeated` ones are not kept. */
export const webhookOutcome = z.enum(['applied', 'created', 'stale', 'unknown', 'refused']);
export type WebhookOutcome = z.infer<typeof webhookOutcome>;

/** `extension`: the id of ours that it was about; null for a resource that is not known here. */
export const recordedWebhook = z.object({
  received_at: dateTime,
  timestamp: dateTime,
  action: z.string(),
  resource_id: z.string(),
  extension: z.string().nullable(),
  outcome: webhookOutcome,
});

export const recordedWebhookList = z.object({ webhooks: z.array(recordedWebhook) });

const tag = 'Extensions';
const source = 'Remora';
const shared = { source, tag, servedAt: ['tcp', 'operator'], access: 'organization' } as const;
/** The id of an extension, or its name. */
const params = z.object({ id: z.string().min(1).max(128) });
const found = ['invalid_request', 'unauthorized', 'forbidden', 'not_found'] as const;
const later = { kind: 'json', status: 202, schema: extensionRecord } as const;

export const extensionOperations = {
  createExtension: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/extensions',
    summary: 'Provision an extension at a provider; 201 when it is ready within 5 s, else 202, and it goes on',
    body: createExtensionRequest,
    answer: { kind: 'json', status: 201, schema: extensionRecord, also: [202] },
    errors: [...found, 'read_only', 'already_exists', 'secret_conflict', 'limit_reached', 'not_implemented'],
  }),
  listExtensions: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/extensions',
    summary: 'List the extensions of the organization in the order in which they were made',
    query: listExtensionsRequest,
    answer: { kind: 'json', status: 200, schema: extensionListResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden'],
  }),
  readExtension: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/extensions/{id}',
    summary: 'Read one extension by its id or name, also for a while after it was deleted',
    params,
    query: readExtensionRequest,
    answer: { kind: 'json', status: 200, schema: extensionRecord },
    errors: found,
  }),
  updateExtension: definePlatformOperation({
    ...shared,
    method: 'PATCH',
    path: '/v1/extensions/{id}',
    summary: 'Change the app or the regions of an extension; 202 while the provider is being asked',
    params,
    body: updateExtensionRequest,
    answer: { kind: 'json', status: 200, schema: extensionRecord, also: [202] },
    errors: [...found, 'read_only', 'secret_conflict', 'limit_reached', 'invalid_state'],
  }),
  retryExtension: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/extensions/{id}/retry',
    summary: 'Try again what has failed',
    params,
    answer: { kind: 'json', status: 200, schema: extensionRecord, also: [202] },
    errors: [...found, 'read_only', 'secret_conflict', 'limit_reached', 'invalid_state'],
  }),
  deleteExtension: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: '/v1/extensions/{id}',
    summary: 'Delete an extension at its provider; its secrets leave the app at once',
    params,
    answer: { ...later, noContent: 'it is gone' },
    errors: [...found, 'read_only'],
  }),
  signOnAtExtension: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/extensions/{id}/sso',
    summary: "Redirect to the provider's page of an extension, where its user signs on",
    params,
    answer: { kind: 'raw' },
    errors: [...found, 'read_only', 'invalid_state'],
  }),
  listExtensionWebhooks: definePlatformOperation({
    source,
    tag: 'Extension providers',
    servedAt: ['operator'],
    access: 'operator',
    method: 'GET',
    path: '/v1/extension-providers/{name}/webhooks',
    summary:
      "The last webhooks of a provider, the newest first, and what came of them; at the platform's own socket only",
    params: z.object({ name: z.string().min(1) }),
    answer: { kind: 'json', status: 200, schema: recordedWebhookList },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
} as const;
