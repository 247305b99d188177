// The registry of extension providers: what the operator of a platform says of each, and the secrets that are made for it.

import { appName } from './app-name.ts';
import { lifeDuration } from './duration.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** A label of DNS: the name stands in the path of the provider's webhooks. */
export const extensionProviderName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'expected 1 to 63 lower-case letters, digits and dashes, with no dash at either end',
  );

/** What a provider is notified of besides the machines of its own app (Extensions API, Webhooks from the platform to the provider). */
export const extensionEvent = z.enum(['user_added', 'user_removed', 'user_role_changed', 'host_trouble']);
export type ExtensionEvent = z.infer<typeof extensionEvent>;

/** `provisioning`: signs the platform's requests. `webhook`: signs the provider's webhooks. `client`: of the OAuth client. */
export const extensionSecretKind = z.enum(['provisioning', 'webhook', 'client']);
export type ExtensionSecretKind = z.infer<typeof extensionSecretKind>;

const address = z.string().min(1).max(2048);
const redirects = z.array(address).max(32);

/**
 * What the operator says of a provider. `revenue_share_bp`: what the operator keeps of the provider's costs, in basis points, hundredths of a
 * percent. A field that is absent from a change stays as it is; null takes `app` away. */
const settings = {
  base_url: address,
  redirect_uris: redirects,
  app: appName.nullable(),
  region_aware: z.boolean(),
  official: z.boolean(),
  latency_sensitive: z.boolean(),
  events: z.array(extensionEvent).max(extensionEvent.options.length),
  revenue_share_bp: z.int().min(0).max(10_000),
};

/** `app`: the app of this platform that the provider runs as; `client_id`: its OAuth client. */
export const extensionProviderRecord = z.object({
  name: z.string(),
  ...settings,
  app: z.string().nullable(),
  client_id: z.string(),
  created_at: dateTime,
});
export type ExtensionProviderRecord = z.infer<typeof extensionProviderRecord>;

/**
 * What came of the notices that the provider was sent. `dead`: it did not take them for a day; `dropped`: too many waited. Nothing is sent
 * before `paused_until`, because it asked for that.
 */
export const extensionNotices = z.object({
  waiting: z.int().nonnegative(),
  delivered: z.int().nonnegative(),
  dead: z.int().nonnegative(),
  dropped: z.int().nonnegative(),
  last_error: z.string().nullable(),
  last_error_at: dateTime.nullable(),
  paused_until: dateTime.nullable(),
});
export type ExtensionNotices = z.infer<typeof extensionNotices>;

export const extensionProviderDetail = extensionProviderRecord.extend({ notices: extensionNotices });

/** The secrets stand in this answer only. */
export const createdExtensionProvider = extensionProviderRecord.extend({
  provisioning_secret: z.string(),
  webhook_secret: z.string(),
  client_secret: z.string(),
});
export type CreatedExtensionProvider = z.infer<typeof createdExtensionProvider>;

export const createExtensionProviderRequest = z.object({
  name: extensionProviderName,
  base_url: address,
  ...z.object(settings).omit({ base_url: true }).partial().shape,
});
export type CreateExtensionProviderRequest = z.infer<typeof createExtensionProviderRequest>;

export const updateExtensionProviderRequest = z.object(settings).partial();
export type UpdateExtensionProviderRequest = z.infer<typeof updateExtensionProviderRequest>;

export const extensionProviderListResponse = z.object({ providers: z.array(extensionProviderRecord) });

const OVERLAP_MAX_MS = 30 * 86_400_000;

/** `overlap`: how long the previous secret is good too. */
export const rotateSecretRequest = z.object({
  kind: extensionSecretKind,
  overlap: lifeDuration(0, OVERLAP_MAX_MS, '30 days').default(86_400_000),
});

/** Has only the new one of the three secrets; `previous_expires_at` says until when the previous one is good too. */
export const rotatedSecret = z.object({
  name: z.string(),
  kind: extensionSecretKind,
  provisioning_secret: z.string().optional(),
  webhook_secret: z.string().optional(),
  client_secret: z.string().optional(),
  previous_expires_at: dateTime,
});
export type RotatedSecret = z.infer<typeof rotatedSecret>;

const tag = 'Extension providers';
const source = 'Remora';
const servedAt = ['operator'] as const;
const access = 'operator';
const params = z.object({ name: z.string().min(1) });

export const extensionProviderOperations = {
  createExtensionProvider: definePlatformOperation({
    method: 'POST',
    path: '/v1/extension-providers',
    summary: "Register a provider of extensions; its secrets are shown once; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    body: createExtensionProviderRequest,
    answer: { kind: 'json', status: 201, schema: createdExtensionProvider },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'already_exists'],
  }),
  listExtensionProviders: definePlatformOperation({
    method: 'GET',
    path: '/v1/extension-providers',
    summary: "List the providers of extensions by name, without their secrets; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    answer: { kind: 'json', status: 200, schema: extensionProviderListResponse },
    errors: ['unauthorized', 'forbidden'],
  }),
  readExtensionProvider: definePlatformOperation({
    method: 'GET',
    path: '/v1/extension-providers/{name}',
    summary: "Read one provider of extensions, with what came of its notices; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params,
    answer: { kind: 'json', status: 200, schema: extensionProviderDetail },
    errors: ['unauthorized', 'forbidden', 'not_found'],
  }),
  updateExtensionProvider: definePlatformOperation({
    method: 'PATCH',
    path: '/v1/extension-providers/{name}',
    summary: "Change what is known of a provider of extensions; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params,
    body: updateExtensionProviderRequest,
    answer: { kind: 'json', status: 200, schema: extensionProviderRecord },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  rotateExtensionSecret: definePlatformOperation({
    method: 'POST',
    path: '/v1/extension-providers/{name}/rotate-secret',
    summary: "Make a new secret, beside which the previous one is good for a while; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    noStore: true,
    params,
    body: rotateSecretRequest,
    answer: { kind: 'json', status: 200, schema: rotatedSecret },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found'],
  }),
  deleteExtensionProvider: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/extension-providers/{name}',
    summary: "Forget a provider that has no extensions; at the platform's own socket only",
    source,
    tag,
    servedAt,
    access,
    params,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'not_found', 'conflict'],
  }),
} as const;
