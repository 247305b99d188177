// Volumes: files that outlive every machine, and that a machine has mounted while its configuration names them.
import * as z from './lazy-zod.ts';
import { appParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

const SIZE_MAX_GB = 500;

const volumeName = z.string().regex(/^[a-z0-9_]{1,30}$/, 'expected 1 to 30 lower-case letters, digits and underscores');
const size = z.int().min(1).max(SIZE_MAX_GB);

/**
 * One volume. `creating`, `extending` and `destroying` are moves that are under way. `host` is Remora's own field: the platform process that
 * has its files; null until it is made.
 */
export const volume = z.object({
  id: z.string(),
  name: z.string(),
  state: z.enum(['creating', 'created', 'extending', 'destroying']),
  size_gb: z.int(),
  region: z.string(),
  zone: z.string(),
  encrypted: z.boolean(),
  attached_machine_id: z.string().nullable(),
  attached_alloc_id: z.string().nullable(),
  host: z.string().nullable(),
  created_at: dateTime,
});
export type Volume = z.infer<typeof volume>;

/** `size_gb` is 1 when absent. */
export const createVolumeRequest = z.object({
  name: volumeName,
  region: z.string().max(32).optional(),
  size_gb: size.default(1),
});
export type CreateVolumeRequest = z.infer<typeof createVolumeRequest>;

export const updateVolumeRequest = z.object({ name: volumeName });
export type UpdateVolumeRequest = z.infer<typeof updateVolumeRequest>;

export const extendVolumeRequest = z.object({ size_gb: size });
export type ExtendVolumeRequest = z.infer<typeof extendVolumeRequest>;

/** `needs_restart`: the machine that has it mounted sees the new size after its next boot. */
export const extendVolumeResponse = z.object({ needs_restart: z.boolean(), volume });
export type ExtendVolumeResponse = z.infer<typeof extendVolumeResponse>;

/** A copy of a volume that was made earlier. None are made here. */
export const volumeSnapshot = z.object({ id: z.string(), created_at: dateTime, digest: z.string(), size: z.int() });

const all = '/v1/apps/{app_name}/volumes';
const one = `${all}/{volume_id}` as const;
const volumeParams = z.object({ ...appParams.shape, volume_id: z.string().min(1).max(64) });
const shared = {
  source: 'Fly Machines API',
  tag: 'Volumes',
  servedAt: ['tcp', 'operator'],
  access: 'organization',
} as const;
const answer = { kind: 'json', status: 200, schema: volume } as const;
const found = ['unauthorized', 'forbidden', 'not_found'] as const;
const changed = [
  'invalid_request',
  ...found,
  'read_only',
  'conflict',
  'other_host',
  'not_reachable',
  'storage_full',
] as const;

export const volumeOperations = {
  listVolumes: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: all,
    summary: 'List the volumes of an app, by id',
    params: appParams,
    answer: { kind: 'json', status: 200, schema: z.array(volume) },
    errors: found,
  }),
  createVolume: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: all,
    summary: 'Make a volume, whose files are on this host',
    params: appParams,
    body: createVolumeRequest,
    unsupported: [
      'snapshot_id',
      'source_volume_id',
      'fstype',
      'require_unique_zone',
      'compute',
      'machines_only',
      'encrypted',
      'snapshot_retention',
      'auto_backup_enabled',
      'unique_zone_app_wide',
    ],
    answer,
    errors: [...changed, 'unsupported_field', 'limit_reached'],
  }),
  readVolume: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: one,
    summary: 'Read one volume',
    params: volumeParams,
    answer,
    errors: found,
  }),
  updateVolume: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: one,
    summary: 'Give a volume another name',
    params: volumeParams,
    body: updateVolumeRequest,
    unsupported: ['snapshot_retention', 'auto_backup_enabled'],
    answer,
    errors: [...changed, 'unsupported_field'],
  }),
  deleteVolume: definePlatformOperation({
    ...shared,
    method: 'DELETE',
    path: one,
    summary: 'Delete a volume that no machine has mounted, with its files',
    params: volumeParams,
    answer,
    errors: changed,
  }),
  extendVolume: definePlatformOperation({
    ...shared,
    method: 'PUT',
    path: `${one}/extend`,
    summary: 'Make a volume larger',
    params: volumeParams,
    body: extendVolumeRequest,
    answer: { kind: 'json', status: 200, schema: extendVolumeResponse },
    errors: changed,
  }),
  listVolumeSnapshots: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: `${one}/snapshots`,
    summary: 'List the copies of a volume: there are none',
    params: volumeParams,
    answer: { kind: 'json', status: 200, schema: z.array(volumeSnapshot) },
    errors: found,
  }),
} as const;
