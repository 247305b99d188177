// The agent's consent before the platform puts its machine to sleep: nothing that the platform cannot see is cut off by it.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';

/** `quiet_ms`: the run time without work that the platform asks for at least. */
export const sleepRequest = z.object({
  move: z.enum(['suspend', 'stop']),
  quiet_ms: z.int().min(0).max(86_400_000),
});
export type SleepRequest = z.infer<typeof sleepRequest>;

/** `agreed` comes once, first. `withdrawn`: work has arrived since, and the machine must stay awake. */
export const sleepLine = z.discriminatedUnion('type', [
  z.object({ type: z.literal('agreed') }),
  z.object({ type: z.literal('withdrawn'), reason: z.string() }),
]);
export type SleepLine = z.infer<typeof sleepLine>;

export const sleepOperations = {
  consentToSleep: defineLocalOperation({
    method: 'POST',
    path: '/v1/idle/consent',
    summary:
      'Prepare this machine for a suspend or a stop that the platform has decided, when there is no work; until the caller hangs up',
    source: 'Remora',
    tag: 'holds',
    servedAt: ['channel'],
    body: sleepRequest,
    answer: { kind: 'stream', status: 200, schema: sleepLine },
    errors: ['invalid_request', 'held', 'conflict', 'hook_failed', 'not_eligible', 'not_configured'],
  }),
} as const;
