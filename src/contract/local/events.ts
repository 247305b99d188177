// The agent's own event stream on the local socket: its lines and its row (design.md, section 3, `/v1/events`).
import { z } from 'zod';
import { defineOperation } from '../operation.ts';
import { queryInteger } from '../query-values.ts';
import { dateTime } from '../time.ts';

/** The first line: the last number used, and the oldest event that is still kept (`seq + 1` when none is). */
export const helloLine = z.object({
  type: z.literal('hello'),
  seq: z.int().nonnegative(),
  oldest: z.int().nonnegative(),
});
export type HelloLine = z.infer<typeof helloLine>;

/** The second line when events after `since` are no longer kept: those from `from` to `to` are missing, both included. */
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
  watchEvents: defineOperation({
    method: 'GET',
    path: '/v1/events',
    summary: 'Every event of the agent: a hello line, what is kept after `since`, then what comes',
    source: 'design.md, section 3',
    tag: 'events',
    query: z.object({
      /** The last number the reader has seen; what is kept after it comes first. Without it only what comes is sent. */
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
