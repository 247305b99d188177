// The machine of a sprite as clients of the Sprites API handle it: restarting it, and asking how it is.
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { spriteParams } from './sprites.ts';
import { dateTime } from './time.ts';

export const restartSpriteResponse = z.object({
  sprite_name: z.string(),
  machine_id: z.string(),
  message: z.string(),
});
export type RestartSpriteResponse = z.infer<typeof restartSpriteResponse>;

/**
 * `asleep`: the machine does not run, and `reason` is its state. `unhealthy`: `agent_unreachable` = its agent is not connected,
 * `policy_refused` = it is, but a policy of the sprite does not hold in the machine, as its last event says,
 * `agent_silent` = it is connected and does not answer, `disk_wedged` = it answers and its disk does not, `disk_failing` = its disk
 * answers with an error.
 */
export const spriteCheck = z.object({
  sprite_name: z.string(),
  sprite_id: z.string(),
  status: z.enum(['healthy', 'unhealthy', 'asleep']),
  reason: z
    .enum([
      'agent_unreachable',
      'policy_refused',
      'agent_silent',
      'disk_wedged',
      'disk_failing',
      'created',
      'starting',
      'suspending',
      'suspended',
      'stopped',
      'failed',
      'destroyed',
    ])
    .nullable(),
  checked_at: dateTime,
  /** How long the check took, in milliseconds. */
  elapsed: z.int().nonnegative(),
});
export type SpriteCheck = z.infer<typeof spriteCheck>;

const shared = { source: 'Sprites API', tag: 'Sprites', servedAt: ['tcp', 'operator'], params: spriteParams } as const;

export const spriteMachineOperations = {
  restartSprite: definePlatformOperation({
    ...shared,
    method: 'POST',
    path: '/v1/sprites/{name}/restart',
    summary: 'Stop the machine of a sprite and boot it; one that is stopped is booted',
    access: 'organization',
    answer: { kind: 'json', status: 200, schema: restartSpriteResponse },
    errors: [
      'unauthorized',
      'read_only',
      'not_found',
      'external_machine',
      'other_host',
      'concurrent_sprite_limit_exceeded',
      'start_failed',
      'host_drained',
    ],
  }),
  checkSprite: definePlatformOperation({
    ...shared,
    method: 'GET',
    path: '/v1/sprites/{name}/check',
    summary: 'Whether the machine of a sprite runs, its agent answers and its disk works; it wakes nothing',
    access: 'any',
    answer: { kind: 'json', status: 200, schema: spriteCheck },
    errors: ['unauthorized', 'forbidden', 'not_found', 'other_host'],
  }),
} as const;
