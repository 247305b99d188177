// What the supervisor says to its agent of the processes that callers run: whether one of them keeps the machine awake. It says so at
// its own socket only, which nobody but the agent can open.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { dateTime } from '../time.ts';

/** One process that runs. Its arguments and variables are left out: what is said here is shown to people and written to logs. */
export const runningSession = z.object({
  id: z.string(),
  /** Name of the program, without its directory. */
  program: z.string(),
  created: dateTime,
  /** How many callers are connected to it. */
  callers: z.int().nonnegative(),
  /** How long ago it printed last; null when it has printed nothing so far. */
  quiet_ms: z.number().nonnegative().nullable(),
});
export type RunningSession = z.infer<typeof runningSession>;

export const sessionWorkResponse = z.object({ sessions: z.array(runningSession) });

export const sessionWorkOperations = {
  listRunningSessions: defineLocalOperation({
    method: 'GET',
    path: '/v1/running-sessions',
    summary: 'The processes that run, with what decides whether they keep the machine awake',
    source: 'Remora',
    tag: 'Processes',
    servedAt: ['socket'],
    answer: { kind: 'json', status: 200, schema: sessionWorkResponse },
    errors: [],
  }),
} as const;
