// What an agent reports when it starts and after each resume, and what the platform answers: it serves one incarnation of a
// machine and refuses its copies.
import * as z from './lazy-zod.ts';
import { discardCause } from './machine-events.ts';
import { machineParams } from './machines.ts';
import { definePlatformOperation } from './operation.ts';
import { dateTime } from './time.ts';

/**
 * The values of the headers of agent-identity.ts. The pair stays the same until the next resume, also over a restart of the
 * agent.
 */
export const machineIncarnation = z.object({
  generation: z.int().nonnegative(),
  incarnation: z.string().regex(/^[0-9a-f]{32}$/, 'expected 32 hex digits'),
});
export type MachineIncarnation = z.infer<typeof machineIncarnation>;

/** `reason` and `signals` are open sets: an agent that knows more than its platform must not be refused for a word. */
export const resumeReport = z.object({
  ...machineIncarnation.shape,
  /** `start`, or the cause of the resume (local/resume.ts, `resumeCause`). */
  reason: z.string().regex(/^[a-z0-9_]{1,64}$/),
  /** How long the machine was away, and how far its wall clock was behind; null where no source shows it. */
  gap_ms: z.number().nullable(),
  wall_skew_ms: z.number().nullable(),
  /** The names of the holds in force. */
  holds: z.array(z.string().max(128)).max(1_000),
  signals: z.array(z.string().max(64)).max(32).optional(),
  /** The version of the agent, which the Sandbox API shows as the `version` of its sprite. */
  version: z.string().min(1).max(64).optional(),
  /** No platform has ever accepted a report of this agent: a machine that is run elsewhere takes over with it. */
  new_installation: z.boolean().optional(),
});
export type ResumeReport = z.infer<typeof resumeReport>;

export const resumeReportResponse = z.object({
  server_time: dateTime,
  /** The time over which the machines of this platform are to spread their next reconnects; 0 for a single machine. */
  reconnect_spread_ms: z.int().nonnegative(),
  /**
   * The value of the header `remora-nonce` of every later call of this incarnation; absent when the report came with the valid
   * nonce.
   */
  nonce: z
    .string()
    .regex(/^[A-Za-z0-9_-]{43}$/, 'expected 32 bytes as base64url')
    .optional(),
  /** The generation from which a machine that took over goes on; absent for every other one. */
  generation: z.int().nonnegative().optional(),
  /** The machine was suspended and booted without its memory, for this cause; only in an answer with a nonce to a report of a start. */
  cold_start: discardCause.optional(),
  /**
   * The URLs of the ports of this sprite, with `{port}` for the number; null where its name is too long for such a URL. Absent where nothing
   * serves them.
   */
  port_address: z.string().max(512).nullable().optional(),
});
export type ResumeReportResponse = z.infer<typeof resumeReportResponse>;

/** `details` of `rewound` and of `incarnation_conflict`: the generation that the platform knows. */
export const fenceDetails = z.object({ generation: z.int().nonnegative() });

export const resumeReportOperations = {
  reportResume: definePlatformOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/resumed',
    summary: 'Report the incarnation that a machine is in; 409 for a copy of it. The same report again changes nothing',
    source: 'Remora',
    tag: 'Machines',
    servedAt: ['tcp'],
    access: 'agent',
    params: machineParams,
    body: resumeReport,
    judgesIncarnation: true,
    answer: { kind: 'json', status: 200, schema: resumeReportResponse },
    errors: [
      'invalid_request',
      'unauthorized',
      'forbidden',
      'not_found',
      'incarnation_conflict',
      'rewound',
      'too_many_requests',
    ],
  }),
} as const;
