// The agent's own event stream on the local socket: its lines and its operation.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';
import { queryInteger } from '../query-values.ts';
import { dateTime } from '../time.ts';

/** The first line: the last number used, and the number of the oldest event that is kept (`seq + 1` when none is). */
export const helloLine = z.object({
  type: z.literal('hello'),
  seq: z.int().nonnegative(),
  oldest: z.int().nonnegative(),
});
export type HelloLine = z.infer<typeof helloLine>;

/** The second line, sent when events after `since` are no longer kept: those from `from` to `to` are missing, both included. */
export const gapLine = z.object({
  type: z.literal('gap'),
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
});
export type GapLine = z.infer<typeof gapLine>;

/** Every other line. Its further fields depend on `type`; readers skip types they do not know. */
export const agentEventLine = z.looseObject({
  type: z.string(),
  seq: z.int().positive(),
  time: dateTime,
  generation: z.int().nonnegative(),
});
export type AgentEventLine = z.infer<typeof agentEventLine>;

/** The last line of a stream that the agent had to end; `slow_reader` when the reader was cut. */
export const streamErrorLine = z.object({ type: z.literal('error'), error: z.string(), message: z.string() });
export type StreamErrorLine = z.infer<typeof streamErrorLine>;

export const eventLine = z.union([helloLine, gapLine, streamErrorLine, agentEventLine]);
export type EventLine = z.infer<typeof eventLine>;

export const eventOperations = {
  watchEvents: defineLocalOperation({
    method: 'GET',
    path: '/v1/events',
    summary: 'Every event of the agent: a hello line, what is kept after `since`, then what comes',
    source: 'Remora',
    tag: 'events',
    servedAt: ['socket', 'readonly', 'loopback'],
    query: z.object({
      /** The last number that the reader has seen. Kept events after it are sent first; without it only new events are sent. */
      since: queryInteger(0, Number.MAX_SAFE_INTEGER).optional(),
      /** Event types, separated by commas; `hello`, `gap` and `error` lines are always sent. */
      types: z
        .string()
        .regex(/^[\w.-]+(?:,[\w.-]+)*$/, 'expected event types separated by commas')
        .max(1_024)
        .optional(),
      /** Seconds between keep-alives of a quiet stream, clamped to 1–300; 15 when absent. */
      keepalive: z.string().max(32).optional(),
    }),
    answer: { kind: 'stream', status: 200, schema: eventLine },
    errors: ['invalid_request', 'shutting_down'],
  }),
} as const;
