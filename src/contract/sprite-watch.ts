// The states of an organization's sprites as they change, as the list of the Sprites API streams them to callers that accept NDJSON.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { queryInteger } from './query-values.ts';
import { spriteStatus } from './sprites.ts';
import { dateTime } from './time.ts';

/** The counts are those of all sprites of the organization, whatever the caller filters by. */
export const spriteWatchOrganization = z.object({
  name: z.string(),
  running: z.int().nonnegative(),
  warm: z.int().nonnegative(),
  cold: z.int().nonnegative(),
  running_limit: z.int().nonnegative().optional(),
  warm_limit: z.int().nonnegative().optional(),
});
export type SpriteWatchOrganization = z.infer<typeof spriteWatchOrganization>;

/** A line with a `type` is about no sprite. `deleted` is Remora's own word (DECISIONS.md, "Watching the states of sprites"). */
export const spriteWatchLine = z.union([
  z.object({
    name: z.string(),
    status: z.enum([...spriteStatus.options, 'deleted']),
    running_version: z.string().nullable(),
    last_running_at: dateTime.nullable(),
    last_warming_at: dateTime.nullable(),
    timestamp: dateTime,
    org: spriteWatchOrganization,
  }),
  z.object({ type: z.literal('heartbeat'), timestamp: dateTime, org: spriteWatchOrganization }),
]);
export type SpriteWatchLine = z.infer<typeof spriteWatchLine>;

/** `max_results` limits the sprites that are listed at first, by name; changes of the others are streamed all the same. */
export const watchSpritesRequest = z.object({
  prefix: z.string().optional(),
  max_results: queryInteger(1, 500).optional(),
});
export type WatchSpritesRequest = z.infer<typeof watchSpritesRequest>;

export const spriteWatchOperations = {
  watchSprites: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites',
    summary: 'The state of each sprite of the organization, then each change, to callers that accept a stream',
    source: 'Sprites API',
    tag: 'Sprites',
    servedAt: ['tcp'],
    access: 'organization',
    query: watchSpritesRequest,
    answer: { kind: 'stream', status: 200, schema: spriteWatchLine, quiet: true },
    form: 'stream',
    errors: ['invalid_request', 'unauthorized', 'too_many_requests'],
  }),
} as const;
