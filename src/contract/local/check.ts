// Whether the disk under the agent works: what the platform asks over the channel when it checks a sprite.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';

/** `wedged`: the disk has not answered in time. `failing`: it answers with an error. */
export const agentCheck = z.object({ disk: z.enum(['ok', 'wedged', 'failing']), elapsed_ms: z.int().nonnegative() });
export type AgentCheck = z.infer<typeof agentCheck>;

export const checkOperations = {
  checkAgent: defineLocalOperation({
    method: 'GET',
    path: '/v1/check',
    summary: 'Whether the disk of the state directory can be written, within two seconds',
    source: 'Remora',
    tag: 'status',
    servedAt: ['socket', 'readonly', 'channel'],
    answer: { kind: 'json', status: 200, schema: agentCheck },
    errors: [],
  }),
} as const;
