// What is said about a resume: the `resumed` event, the signals that are live on this machine, and the poke that reports one
// from outside (resume.md, sections 3 and 4).
import { z } from 'zod';
import { defineOperation } from '../operation.ts';

/**
 * `restore`: a saved memory image was loaded. `vm_paused`: the VM stood still and its clock ran on. `vm_paused_silent`: both stood
 * still. `guest_sleep`: the guest itself slept. `process_stopped`: only this process stood still. `external_time`: time outside has
 * run on without us. `poke`: somebody said so. A stall of our own and a step of the clock are none of these.
 */
export const resumeCause = z.enum([
  'restore',
  'vm_paused',
  'vm_paused_silent',
  'guest_sleep',
  'process_stopped',
  'external_time',
  'poke',
]);
export type ResumeCause = z.infer<typeof resumeCause>;

export const resumeCertainty = z.enum(['certain', 'likely', 'possible']);
export type ResumeCertainty = z.infer<typeof resumeCertainty>;

/** What can point to a resume; `fence` = a suspend had been accepted. */
export const wakeSignal = z.enum([
  'generation',
  'timer_gap',
  'wall_clock',
  'boot_clock',
  'rtc',
  'upstream_date',
  'failing_origins',
  'continued',
  'fence',
  'poke',
]);
export type WakeSignal = z.infer<typeof wakeSignal>;

/** What a step of the recovery took in run time; `reason` says why it is not ok. */
export const stepReport = z.object({
  name: z.string(),
  ms: z.number(),
  ok: z.boolean(),
  reason: z.string().optional(),
});
export type StepReport = z.infer<typeof stepReport>;

/** The fields of the `resumed` event, next to those of every event. */
export const resumedFields = z.object({
  cause: resumeCause,
  certainty: resumeCertainty,
  signals: z.array(wakeSignal),
  /** How long the machine was away, by the best source; null where none tells. */
  gap_ms: z.number().nullable(),
  /** How far our wall clock was behind when the resume was noticed; null where no source tells. */
  wall_skew_ms: z.number().nullable(),
  /** Resumes that fell into this one, for instance three restores within two seconds. */
  restores: z.int().positive(),
  steps: z.array(stepReport),
});
export type ResumedFields = z.infer<typeof resumedFields>;

/** A source of the detector: read now, or missing with what goes unnoticed without it. */
export const sourceName = z.enum([
  'generation',
  'timer_gap',
  'wall_clock',
  'boot_clock',
  'rtc',
  'timer_interrupts',
  'steal',
  'run_queue',
  'upstream_date',
  'poke',
]);
export type SourceName = z.infer<typeof sourceName>;

/** `details.resume` of GET /v1/status. */
export const signalReport = z.object({
  live: z.array(sourceName),
  missing: z.array(sourceName),
  blind_spots: z.array(z.string()),
  boot_id: z.string().nullable(),
  /** Own delays that were no resume: the loop was busy, or had no CPU. */
  stalls: z.object({ busy: z.int(), starved: z.int(), longest_ms: z.number() }),
  clock_steps: z.int(),
});
export type SignalReport = z.infer<typeof signalReport>;

export const pokeBody = z.object({ reason: z.string().max(200).optional() }).optional();

export const pokeAnswer = z.object({
  /** After the poke. */
  generation: z.int(),
  /** False when the resume had been noticed already and the poke added nothing but its word. */
  new: z.boolean(),
});

export const resumeOperations = {
  machineResumed: defineOperation({
    method: 'POST',
    path: '/v1/machine/resumed',
    summary: 'Say that this machine was resumed, from a hook; 202 means that connections are being replaced',
    source: 'design.md, section 3; resume.md, section 3',
    tag: 'machine',
    body: pokeBody,
    answer: { kind: 'json', status: 202, schema: pokeAnswer },
    errors: [],
  }),
} as const;
