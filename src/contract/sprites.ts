// Sprites: named sandbox environments of an organization (Sandbox API, Resources and their fields and Endpoints).

import { appName } from './app-name.ts';
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { dateTime } from './time.ts';

/** Sandbox API, States and transitions. */
export const spriteStatus = z.enum(['cold', 'warm', 'running']);
export type SpriteStatus = z.infer<typeof spriteStatus>;

/** The form of a name on creation; the specifications give none (DECISIONS.md, "Sprite name"). */
export const spriteName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/,
    'expected 1 to 63 lower-case letters, digits and dashes, with no dash at either end',
  )
  .refine((name) => !/^\d+--/.test(name), 'digits and two dashes at the beginning name a port of a sprite');

/** Sandbox API, UrlSettings (response). */
export const urlSettings = z.object({
  auth: z.enum(['sprite', 'public']),
  private_access: z.enum(['admins', 'organization']).optional(),
});
export type UrlSettings = z.infer<typeof urlSettings>;

/** The words of the Sandbox API, and the one that clients of the Sprites API have for `organization`. */
const privateAccessRequest = z
  .enum(['admins', 'organization', 'org_users'])
  .transform((word) => (word === 'org_users' ? 'organization' : word))
  .pipe(z.enum(['admins', 'organization']));

/** Sandbox API, UrlSettingsRequest. `private_access` is Remora's own field (DECISIONS.md, "private_access in a request"). */
export const urlSettingsRequest = z
  .object({
    auth: z.enum(['sprite', 'public']).default('sprite'),
    private_access: privateAccessRequest.optional(),
  })
  .refine(({ auth, private_access }) => auth === 'sprite' || private_access === undefined, {
    path: ['private_access'],
    message: 'a public URL is open to everybody; expected auth sprite with it',
  });
export type UrlSettingsRequest = z.infer<typeof urlSettingsRequest>;

/** Sandbox API, Sprite. `labels` is omitted when empty. */
export const sprite = z.object({
  id: z.string(),
  name: z.string(),
  organization: z.string(),
  url: z.string(),
  status: spriteStatus,
  created_at: dateTime,
  updated_at: dateTime,
  environment_version: z.string().nullable().optional(),
  labels: z.array(z.string()).min(1).optional(),
  last_running_at: dateTime.nullable().optional(),
  last_warming_at: dateTime.nullable().optional(),
  url_settings: urlSettings.nullable().optional(),
  version: z.string().nullable().optional(),
  /** Remora's own field: the id by which the machines API knows its machine. */
  machine_id: z.string().nullable().optional(),
  /** Remora's own field: the app of its machine. */
  app: z.string().nullable().optional(),
});
export type Sprite = z.infer<typeof sprite>;

/** Sandbox API, SpriteListResponse. The counts are those of the sprites in this answer. */
export const spriteListResponse = z.object({
  sprites: z.array(sprite),
  has_more: z.boolean(),
  running: z.int().nonnegative(),
  warm: z.int().nonnegative(),
  cold: z.int().nonnegative(),
  name: z.string(),
  next_continuation_token: z.string().optional(),
  running_limit: z.int().nonnegative().optional(),
  warm_limit: z.int().nonnegative().optional(),
});
export type SpriteListResponse = z.infer<typeof spriteListResponse>;

const labels = z.array(z.string().min(1).max(128)).max(64);

/** What clients of the Sprites API ask of the machine (DECISIONS.md, "Configuration of a new sprite"). */
export const spriteConfigRequest = z.strictObject({
  ram_mb: z.int().min(1).max(1_048_576).optional(),
  cpus: z.int().min(1).max(1_024).optional(),
  region: z.string().min(1).max(64).optional(),
  storage_gb: z.number().positive().optional(),
});
export type SpriteConfigRequest = z.infer<typeof spriteConfigRequest>;

/** Sandbox API, Request bodies for sprites. `labels` is Remora's own field (DECISIONS.md, "Labels of a sprite"). */
export const createSpriteRequest = z.object({
  name: spriteName,
  url_settings: urlSettingsRequest.optional(),
  labels: labels.optional(),
  config: spriteConfigRequest.optional(),
  /** The machine is run elsewhere, with an agent that has the sprite's token (DECISIONS.md, "External machine"). */
  external: z.boolean().optional(),
  /** Remora's own field: the app of its machine; the one named like the organization when absent. */
  app: appName.optional(),
});
export type CreateSpriteRequest = z.infer<typeof createSpriteRequest>;

/** Sandbox API, Request bodies for sprites. `labels` is Remora's own field, and with it `url_settings` may be left out. */
export const updateSpriteRequest = z
  .object({ url_settings: urlSettingsRequest.optional(), labels: labels.optional() })
  .refine((change) => change.url_settings !== undefined || change.labels !== undefined, {
    path: ['url_settings'],
    message: 'expected url_settings, labels, or both',
  });
export type UpdateSpriteRequest = z.infer<typeof updateSpriteRequest>;

/** Query of the sprite list (Sandbox API, Endpoints and Limits). */
export const listSpritesRequest = z.object({
  prefix: z.string().optional(),
  max_results: queryInteger(1, 500).default(50),
  continuation_token: z.string().optional(),
});
export type ListSpritesRequest = z.infer<typeof listSpritesRequest>;

/** The path parameter of everything under one sprite. */
export const spriteParams = z.object({ name: z.string().min(1) });

const tag = 'Sprites';

export const spriteOperations = {
  createSprite: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites',
    summary: 'Create a sprite',
    source: 'Sandbox API, Endpoints',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    body: createSpriteRequest,
    unsupported: ['environment', 'wait_for_capacity', 'runtime'],
    answer: { kind: 'json', status: 201, schema: sprite },
    errors: [
      'invalid_request',
      'unsupported_field',
      'unauthorized',
      'not_found',
      'already_exists',
      'sprite_creation_rate_limited',
    ],
  }),
  listSprites: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites',
    summary: 'List the sprites of the organization, by name',
    source: 'Sandbox API, Endpoints',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    query: listSpritesRequest,
    answer: { kind: 'json', status: 200, schema: spriteListResponse },
    errors: ['invalid_request', 'unauthorized'],
  }),
  readSprite: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}',
    summary: 'Read one sprite',
    source: 'Sandbox API, Endpoints; Sprites API',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'every',
    params: spriteParams,
    answer: { kind: 'json', status: 200, schema: sprite },
    errors: ['unauthorized', 'not_found'],
  }),
  updateSprite: definePlatformOperation({
    method: 'PUT',
    path: '/v1/sprites/{name}',
    summary: 'Replace the URL settings of a sprite, and its labels when given',
    source: 'Sandbox API, Request bodies for sprites; Sprites API',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: spriteParams,
    body: updateSpriteRequest,
    answer: { kind: 'json', status: 200, schema: sprite },
    errors: ['invalid_request', 'unauthorized', 'not_found'],
  }),
  deleteSprite: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/sprites/{name}',
    summary: 'Delete a sprite',
    source: 'Sandbox API, Endpoints; Sprites API',
    tag,
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: spriteParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'not_found', 'other_host'],
  }),
} as const;
