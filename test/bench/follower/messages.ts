// What the processes of the follower benchmark say to each other.
import { z } from 'zod';

export const ready = z.object({ type: z.literal('ready'), url: z.string().optional() });

/** What the agent's process is and did since the last such message. */
export const reading = z.object({
  type: z.literal('reading'),
  rss_bytes: z.number(),
  heap_bytes: z.number(),
  buffers_bytes: z.number(),
  cpu_ms: z.number(),
  loop_p50_ms: z.number(),
  loop_p99_ms: z.number(),
  loop_max_ms: z.number(),
  transactions: z.number(),
  gaps: z.number(),
  cache: z.string(),
  readers: z.number(),
  waiters: z.number(),
});
export type Reading = z.output<typeof reading>;

export const received = z.object({ type: z.literal('received'), lines: z.number(), open: z.number() });

export const sent = z.object({ type: z.literal('sent'), transactions: z.number() });
