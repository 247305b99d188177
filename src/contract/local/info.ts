// Who this sprite is, in the words of the Sprites API: the one operation of its socket without a prefix.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';

/** Null: the setting is absent, or the platform has not answered yet. `version` is that of the agent. */
export const spriteInfo = z.object({
  sprite_id: z.string().nullable(),
  sprite_name: z.string().nullable(),
  sprite_url: z.string().nullable(),
  version: z.string(),
  org: z.string().nullable(),
});
export type SpriteInfo = z.infer<typeof spriteInfo>;

export const infoOperations = {
  info: defineLocalOperation({
    method: 'GET',
    path: '/info',
    summary: 'Id, name, address and organization of this sprite, and the version of its agent',
    source: 'Sprites API',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'channel'],
    answer: { kind: 'json', status: 200, schema: spriteInfo },
    errors: [],
  }),
} as const;
