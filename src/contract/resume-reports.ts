// What an agent reports when it begins and after each resume, and what the platform makes of it: one life of a machine counts, its
// copies are refused (resume.md, sections 3 and 4).
import { z } from 'zod';
import { machineParams } from './machines.ts';
import { defineOperation } from './operation.ts';
import { dateTime } from './time.ts';

/** What the headers of agent-identity.ts say, as values. The same pair until the next resume, also over a restart of the agent. */
export const machineLife = z.object({
  generation: z.int().nonnegative(),
  incarnation: z.string().regex(/^[0-9a-f]{32}$/, 'expected 32 hex digits'),
});
export type MachineLife = z.infer<typeof machineLife>;

/** `reason` and `signals` are open sets: an agent that knows more than its platform must not be refused for a word. */
export const resumeReport = z.object({
  ...machineLife.shape,
  /** `start`, or the cause of the resume (local/resume.ts, `resumeCause`). */
  reason: z.string().regex(/^[a-z0-9_]{1,64}$/),
  /** How long the machine was away, and how far its wall clock was behind; null where nothing tells. */
  gap_ms: z.number().nullable(),
  wall_skew_ms: z.number().nullable(),
  /** The names of the holds in force. */
  holds: z.array(z.string().max(128)).max(1_000),
  signals: z.array(z.string().max(64)).max(32).optional(),
  /** Of the agent: what document 1 shows as the `version` of its sprite. */
  version: z.string().min(1).max(64).optional(),
});
export type ResumeReport = z.infer<typeof resumeReport>;

export const resumeReportResponse = z.object({
  server_time: dateTime,
  /** Over how long the machines of this platform are to spread their next reconnects; 0 for one that is alone. */
  reconnect_spread_ms: z.int().nonnegative(),
});
export type ResumeReportResponse = z.infer<typeof resumeReportResponse>;

/** `details` of `rewound` and of `incarnation_conflict`: the generation that the platform knows. */
export const fenceDetails = z.object({ generation: z.int().nonnegative() });

export const resumeReportOperations = {
  reportResume: defineOperation({
    method: 'POST',
    path: '/v1/apps/{app_name}/machines/{machine_id}/resumed',
    summary: 'Report the life that a machine is in; 409 for a copy of it. The same report again changes nothing',
    source: 'resume.md, section 4 (path not shown)',
    tag: 'Machines',
    access: 'sprite',
    params: machineParams,
    body: resumeReport,
    answer: { kind: 'json', status: 200, schema: resumeReportResponse },
    errors: ['invalid_request', 'unauthorized', 'forbidden', 'not_found', 'incarnation_conflict', 'rewound'],
  }),
} as const;
