// The restart state: what one process of the agent leaves to the next one, because it is not in the database.
import * as z from '../../contract/lazy-zod.ts';
import { lastResume, lastSuspend } from '../../contract/local/machine.ts';
import { resumedFields, stepResult } from '../../contract/local/resume.ts';
import { holdMode, holdName } from '../../contract/local/tasks.ts';
import { machineIncarnation } from '../../contract/resume-reports.ts';

const hold = z.object({
  name: holdName,
  mode: holdMode,
  reason: z.string().optional(),
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
  created_wall_ms: z.number(),
  /** Run time left. Absent for a hold whose connection ends with this process. */
  left_ms: z.number().optional(),
});
export type RestartHold = z.infer<typeof hold>;

const resume = z.object({
  /** The incarnation, under a name that other releases read: the next process may be one of them. */
  life: machineIncarnation.extend({ nonce: z.string().optional(), isKnown: z.boolean() }),
  last: lastResume.optional(),
  /** The detector's counts when the restart began, so that the next process notices a restore that happens on the way. */
  counts: z.record(z.string(), z.number()).optional(),
  recent: resumedFields.omit({ steps: true }).extend({ age_ms: z.number() }).optional(),
  /** Present while a recovery is under way: its steps before the gate, which the next process does not repeat. */
  recovery: z.array(stepResult).optional(),
});
export type RestartResume = z.infer<typeof resume>;

/** The event as published. The order of its fields is kept, because it is that of the line. */
const event = z.looseObject({ seq: z.int(), time: z.string(), generation: z.int(), type: z.string() });

export const restartState = z.object({
  /** The boot in which it was left: its times mean nothing in another one. */
  boot_id: z.string(),
  /** When the restart began, in milliseconds of the monotonic clock of the kernel, which every process of a boot shares. */
  begun_boot_ms: z.number(),
  resume,
  lastSuspend: lastSuspend.optional(),
  holds: z.array(hold),
  events: z.array(event),
});
export type RestartState = z.infer<typeof restartState>;
