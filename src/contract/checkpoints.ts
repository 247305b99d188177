// Checkpoints of a sprite, and the stream that creating or restoring one answers with (Sandbox API, Checkpoint records and
// Checkpoint stream events; the paths are those of the Sprites API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

export const checkpointId = z.string().regex(/^v\d{1,15}$/, 'expected v and a number');

/** Sandbox API, CheckpointInfo. An empty `health` means healthy; `is_auto` is of the Sprites API: nobody asked for this one by itself. */
export const checkpointInfo = z.object({
  id: checkpointId,
  create_time: dateTime,
  comment: z.string().optional(),
  source_id: z.string().optional(),
  is_auto: z.boolean().optional(),
  health: z.enum(['', 'mount_failed']).optional(),
});
export type CheckpointInfo = z.infer<typeof checkpointInfo>;

export const checkpointListResponse = z.array(checkpointInfo);
export type CheckpointListResponse = z.infer<typeof checkpointListResponse>;

/** Sandbox API, CreateCheckpointRequest. */
export const createCheckpointRequest = z.object({ comment: z.string().max(4096).optional() });
export type CreateCheckpointRequest = z.infer<typeof createCheckpointRequest>;

/** Sandbox API, Checkpoint stream events. */
export const checkpointEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('info'), data: z.string(), time: dateTime }),
  z.object({ type: z.literal('complete'), data: z.string(), time: dateTime }),
  z.object({ type: z.literal('error'), error: z.string(), time: dateTime }),
]);
export type CheckpointEvent = z.infer<typeof checkpointEvent>;

export const checkpointParams = spriteParams.extend({ id: checkpointId });

const tag = 'Checkpoints';
const servedAt = ['tcp', 'operator'] as const;
/** Full access to the organization or, from inside, to the sprite itself; for reading too. */
const rights = { access: 'every', readOnly: false } as const;
/** Why the files of a machine cannot be kept or replaced. */
const reach = ['read_only', 'other_host', 'external_machine', 'too_many_requests', 'not_isolated'] as const;
/** What only operations that copy files answer. */
const copy = ['limit_reached', 'storage_full', 'shutting_down'] as const;
const source = 'Sandbox API, Checkpoint records; Sprites API';
const progress = { kind: 'stream', status: 200, schema: checkpointEvent } as const;

export const checkpointOperations = {
  createCheckpoint: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/checkpoint',
    summary: 'Make a checkpoint and report its progress',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    body: createCheckpointRequest.optional(),
    answer: progress,
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'conflict', ...reach, ...copy],
  }),
  listCheckpoints: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/checkpoints',
    summary: 'The checkpoints of a sprite',
    source,
    tag,
    servedAt,
    ...rights,
    params: spriteParams,
    query: z.object({ history: checkpointId.optional() }),
    answer: { kind: 'json', status: 200, schema: checkpointListResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', ...reach],
  }),
  readCheckpoint: definePlatformOperation({
    method: 'GET',
    path: '/v1/sprites/{name}/checkpoints/{id}',
    summary: 'One checkpoint',
    source,
    tag,
    servedAt,
    ...rights,
    params: checkpointParams,
    answer: { kind: 'json', status: 200, schema: checkpointInfo },
    errors: ['unauthorized', 'forbidden', 'not_found', ...reach],
  }),
  deleteCheckpoint: definePlatformOperation({
    method: 'DELETE',
    path: '/v1/sprites/{name}/checkpoints/{id}',
    summary: 'Delete a checkpoint',
    source,
    tag,
    servedAt,
    ...rights,
    params: checkpointParams,
    answer: { kind: 'empty', status: 204 },
    errors: ['unauthorized', 'forbidden', 'not_found', 'conflict', ...reach],
  }),
  restoreCheckpoint: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/checkpoints/{id}/restore',
    summary: 'Restore a checkpoint and report the progress',
    source,
    tag,
    servedAt,
    ...rights,
    params: checkpointParams,
    answer: progress,
    errors: ['unauthorized', 'forbidden', 'not_found', 'conflict', 'start_failed', ...reach, ...copy],
  }),
} as const;
