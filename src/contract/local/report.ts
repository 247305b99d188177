// What the agent says about its reports to the platform: the event of being refused as a copy, and the state in GET /v1/status.
import { z } from 'zod';
import { dateTime } from '../time.ts';

/** `incarnation_conflict`: another machine of the same snapshot came first. `rewound`: a later life of this machine was seen. */
export const fenceCode = z.enum(['incarnation_conflict', 'rewound']);

/** The fields of the `fenced_off` event, next to those of every event. */
export const fencedOffFields = z.object({
  code: fenceCode,
  /** The generation that the platform serves; null when it does not say. */
  known_generation: z.int().nullable(),
});

/** `details.report` of GET /v1/status: how the last report ended. */
export const reportStatus = z.object({
  at: dateTime.nullable(),
  /** Null when none has ended yet, and without a platform. */
  ok: z.boolean().nullable(),
  reason: z.string().optional(),
  /** How far the clock of the platform was ahead of ours, and within what this is right; null until it has said. */
  clock_offset_ms: z.int().nullable(),
  clock_uncertainty_ms: z.int().nullable(),
  /** Over how long the next reconnect is spread. */
  reconnect_spread_ms: z.int(),
});
