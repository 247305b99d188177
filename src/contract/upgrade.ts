// Replacing the program of an agent by the one that is on its disk now (Sprites API).
import * as z from './lazy-zod.ts';
import { definePlatformOperation } from './operation.ts';
import { spriteParams } from './sprites.ts';

/** `force`: calls in flight are cut. */
const upgradeRequest = z.object({ force: z.stringbool().default(false) });

export const upgradeResponse = z.object({
  version_before: z.string(),
  version_after: z.string(),
  message: z.string(),
});
export type UpgradeResponse = z.infer<typeof upgradeResponse>;

/** What 204 means. */
export const nothingNewer = 'nothing newer is installed';

/** Why an agent goes on with the program that it runs. */
export const upgradeErrors = ['invalid_request', 'conflict', 'held', 'not_implemented', 'start_failed'] as const;

export const upgradeOperations = {
  upgradeSprite: definePlatformOperation({
    method: 'POST',
    path: '/v1/sprites/{name}/upgrade',
    summary: 'Replace the agent of a sprite by the version on its disk; what runs in the sprite goes on',
    source: 'Sprites API',
    tag: 'Sprites',
    servedAt: ['tcp', 'operator'],
    access: 'organization',
    params: spriteParams,
    query: upgradeRequest,
    answer: { kind: 'json', status: 200, schema: upgradeResponse, noContent: nothingNewer },
    errors: [
      ...upgradeErrors,
      'unauthorized',
      'forbidden',
      'read_only',
      'not_found',
      'concurrent_sprite_limit_exceeded',
      'other_host',
      'not_supported',
      'upstream_failed',
      'not_reachable',
      'upstream_timeout',
    ],
  }),
} as const;
