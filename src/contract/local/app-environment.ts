// What the agent tells its supervisor of the secrets of the app, for the environment of the programs that it starts. It says so at the
// supervisor's own socket only, which nobody but the agent can open.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';

/**
 * `known`: these are all, and the earlier ones are forgotten. `unknown`: the platform has not said, and what is known from before
 * goes on being used. `withheld`: this machine gets none, and the earlier ones are forgotten.
 */
export const appEnvironment = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('known'),
    secrets: z.array(z.object({ name: z.string(), value: z.string() })).max(1_024),
  }),
  z.object({ type: z.literal('unknown'), reason: z.string() }),
  z.object({ type: z.literal('withheld'), reason: z.string() }),
]);
export type AppEnvironment = z.infer<typeof appEnvironment>;

/** Control characters take six bytes in JSON. */
const CAP_BYTES = 4 * 1024 * 1024;

export const appEnvironmentOperations = {
  setAppEnvironment: defineLocalOperation({
    method: 'PUT',
    path: '/v1/app-environment',
    summary: 'The secrets of the app, for programs that are started from now on',
    source: 'Remora',
    tag: 'Processes',
    servedAt: ['socket'],
    body: appEnvironment,
    rawBody: { cap_bytes: CAP_BYTES },
    answer: { kind: 'empty', status: 204 },
    errors: ['invalid_request'],
  }),
} as const;
