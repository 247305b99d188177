// What the agent says about its reports to the platform: the event of being refused as a copy, and the state in GET /v1/status.
import * as z from '../lazy-zod.ts';
import { dateTime } from '../time.ts';

/**
 * `incarnation_conflict`: another machine of the same snapshot came first. `rewound`: the platform has seen a later incarnation
 * of this machine.
 */
export const fenceCode = z.enum(['incarnation_conflict', 'rewound']);

/** The fields of the `fenced_off` event besides those of every event. */
export const fencedOffFields = z.object({
  code: fenceCode,
  /** The generation that the platform serves; null when the platform does not name it. */
  known_generation: z.int().nullable(),
});

/** `details.report` of GET /v1/status: how the last report ended. */
export const resumeReporterStatus = z.object({
  at: dateTime.nullable(),
  /** Null while no report has ended, and without a platform. */
  ok: z.boolean().nullable(),
  reason: z.string().optional(),
  /**
   * Whether the platform has given this incarnation a nonce, which no copy of the machine has. Without one, two machines that
   * were restored from one snapshot may draw equal random numbers. Null without a platform.
   */
  nonce: z.boolean().nullable(),
  /**
   * How far the clock of the platform is ahead of this machine's, and the error of that figure; null until the platform has
   * answered.
   */
  clock_offset_ms: z.int().nullable(),
  clock_uncertainty_ms: z.int().nullable(),
  /** The time over which the next reconnects of the platform's machines are spread. */
  reconnect_spread_ms: z.int(),
});
