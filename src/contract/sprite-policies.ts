// What the processes of a sprite may do and how much memory they get, as clients of the Sprites API set it.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { reachErrors } from './reach-errors.ts';
import { spriteParams } from './sprites.ts';

/** An empty one restricts nothing. Clients send and read `noNewPrivileges` in this spelling. */
export const privilegesPolicy = z.strictObject({
  profile: z.enum(['', 'minimal', 'standard', 'privileged']).optional(),
  devices: z.array(z.string().min(1).max(256)).max(256).optional(),
  noNewPrivileges: z.boolean().optional(),
});
export type PrivilegesPolicy = z.infer<typeof privilegesPolicy>;

/** An empty one limits nothing. */
export const resourcesPolicy = z.strictObject({
  memory: z.strictObject({ limit_mb: z.int().min(1).max(1_048_576), autoscale: z.boolean().optional() }).optional(),
});
export type ResourcesPolicy = z.infer<typeof resourcesPolicy>;

const shared = { source: 'Sprites API', tag: 'Policies', servedAt: ['tcp', 'operator'], params: spriteParams } as const;
const read = { ...shared, method: 'GET', access: 'every', errors: ['unauthorized', 'forbidden', 'not_found'] } as const;
const change = { ...shared, access: 'organization', answer: { kind: 'empty', status: 204 } } as const;
const setErrors = ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'conflict', ...reachErrors] as const;

export const spritePolicyOperations = {
  readPrivilegesPolicy: definePlatformOperation({
    ...read,
    path: '/v1/sprites/{name}/policy/privileges',
    summary: 'What the processes of a sprite may do; empty while nothing is restricted',
    answer: { kind: 'json', status: 200, schema: privilegesPolicy },
  }),
  setPrivilegesPolicy: definePlatformOperation({
    ...change,
    method: 'POST',
    path: '/v1/sprites/{name}/policy/privileges',
    summary: 'Restrict what the processes of a sprite may do',
    body: privilegesPolicy,
    errors: setErrors,
  }),
  deletePrivilegesPolicy: definePlatformOperation({
    ...change,
    method: 'DELETE',
    path: '/v1/sprites/{name}/policy/privileges',
    summary: 'Lift the restriction of what the processes of a sprite may do',
    errors: setErrors,
  }),
  readResourcesPolicy: definePlatformOperation({
    ...read,
    path: '/v1/sprites/{name}/policy/resources',
    summary: 'The memory that the processes of a sprite get; empty while nothing is limited',
    answer: { kind: 'json', status: 200, schema: resourcesPolicy },
  }),
  setResourcesPolicy: definePlatformOperation({
    ...change,
    method: 'POST',
    path: '/v1/sprites/{name}/policy/resources',
    summary: 'Limit the memory of the processes of a sprite',
    body: resourcesPolicy,
    errors: setErrors,
  }),
  deleteResourcesPolicy: definePlatformOperation({
    ...change,
    method: 'DELETE',
    path: '/v1/sprites/{name}/policy/resources',
    summary: 'Lift the limit of the memory of the processes of a sprite',
    errors: setErrors,
  }),
} as const;
