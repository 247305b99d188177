// What the agent says about a resume: the `resumed` event, the signals that are live on this machine, and the poke by which a
// program reports a resume from outside.
import * as z from '../lazy-zod.ts';
import { defineLocalOperation } from '../operation.ts';

/**
 * `restore`: a saved memory image was loaded. `vm_paused`: the VM stood still and its clock ran on. `vm_paused_silent`: both
 * stood still. `guest_sleep`: the guest itself slept. `process_stopped`: only this process stood still. `external_time`: clocks
 * outside show that time has passed without this machine. `poke`: a program reported it. A stall of the agent itself and a step
 * of the clock are none of these.
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
export const resumeSignal = z.enum([
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
export type ResumeSignal = z.infer<typeof resumeSignal>;

/**
 * How one step of the recovery ended, and the run time it took. `reason` is set when it is not ok; a step that passed its
 * deadline is not ok.
 */
export const stepResult = z.object({
  name: z.string(),
  ms: z.number(),
  ok: z.boolean(),
  reason: z.string().optional(),
});
export type StepResult = z.infer<typeof stepResult>;

/** The fields of the `resumed` event besides those of every event. */
export const resumedFields = z.object({
  cause: resumeCause,
  certainty: resumeCertainty,
  signals: z.array(resumeSignal),
  /** How long the machine was away, by the best source; null where no source shows it. */
  gap_ms: z.number().nullable(),
  /** How far the wall clock of this machine was behind when the resume was noticed; null where no source shows it. */
  wall_skew_ms: z.number().nullable(),
  /** How many resumes were taken together as this one, for instance three restores within two seconds. */
  restores: z.int().positive(),
  steps: z.array(stepResult),
});
export type ResumedFields = z.infer<typeof resumedFields>;

/** A source of the detector. Each is either read now, or missing, with what goes unnoticed without it. */
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
export const signalStatus = z.object({
  live: z.array(sourceName),
  missing: z.array(sourceName),
  blind_spots: z.array(z.string()),
  boot_id: z.string().nullable(),
  /** Delays of the event loop that were no resume: it was busy, had no CPU, or the host held the machine still for a copy of its files. */
  stalls: z.object({ busy: z.int(), starved: z.int(), held: z.int(), longest_ms: z.number() }),
  clock_steps: z.int(),
});
export type SignalStatus = z.infer<typeof signalStatus>;

export const pokeBody = z.object({ reason: z.string().max(200).optional() }).optional();

export const pokeAnswer = z.object({
  /** The generation after the poke. */
  generation: z.int(),
  /** False when the resume had been noticed already, so that the poke only added its reason. */
  new: z.boolean(),
});

export const resumeOperations = {
  machineResumed: defineLocalOperation({
    method: 'POST',
    path: '/v1/machine/resumed',
    summary: 'Say that this machine was resumed, from a hook; 202 means that connections are being replaced',
    source: 'Remora',
    tag: 'machine',
    servedAt: ['socket'],
    body: pokeBody,
    answer: { kind: 'json', status: 202, schema: pokeAnswer },
    errors: [],
  }),
} as const;
