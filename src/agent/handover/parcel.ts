// What one image of the daemon leaves to the next one of the same process: its sockets, and what it knows that is not on disk.
import { z } from 'zod';
import { lastResume, lastSuspend } from '../../contract/local/machine.ts';
import { resumeCause, resumeCertainty, wakeSignal } from '../../contract/local/resume.ts';
import { holdMode, holdName } from '../../contract/local/tasks.ts';
import { machineLife } from '../../contract/resume-reports.ts';
import { doors } from '../doors.ts';

const socket = z.object({
  fd: z.int(),
  door: z.enum(doors),
  /** As people write it: a path, `fd:3`, or `host:port`. */
  address: z.string(),
  /** The file that goes with it, when it is ours. */
  file: z.object({ path: z.string(), ino: z.int() }).optional(),
});
export type HandedSocket = z.infer<typeof socket>;

const hold = z.object({
  name: holdName,
  mode: holdMode,
  reason: z.string().optional(),
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
  created_wall_ms: z.number(),
  /** Run time. Absent for a hold whose connection ends with this image. */
  left_ms: z.number().optional(),
});
export type HandedHold = z.infer<typeof hold>;

const resume = z.object({
  life: machineLife,
  last: lastResume.optional(),
  /** What the detector knew when the handover began: a further restore on the way to the next image is still noticed there. */
  counts: z.record(z.string(), z.number()).optional(),
  recent: z
    .object({
      cause: resumeCause,
      certainty: resumeCertainty,
      signals: z.array(wakeSignal),
      gap_ms: z.number().nullable(),
      wall_skew_ms: z.number().nullable(),
      restores: z.int().positive(),
      age_ms: z.number(),
    })
    .optional(),
});
export type HandedResume = z.infer<typeof resume>;

/** As published: the order of the fields is that of the line. */
const event = z.looseObject({ seq: z.int(), time: z.string(), generation: z.int(), type: z.string() });

const parcel = z.object({
  begun_wall_ms: z.number(),
  sockets: z.array(socket),
  resume,
  lastSuspend: lastSuspend.optional(),
  holds: z.array(hold),
  events: z.array(event),
  /** The token, where it cannot be read again. */
  token: z.string().optional(),
});
export type Parcel = z.infer<typeof parcel>;

/** Throws when `text` is no parcel of this version of the agent. */
export function parseParcel(text: string): Parcel {
  return parcel.parse(JSON.parse(text));
}
