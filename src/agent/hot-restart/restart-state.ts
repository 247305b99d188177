// The restart state: what one image of the daemon leaves to the next one of the same process, its sockets and what is not on disk.
import { z } from 'zod';
import { listenerNames } from '../../contract/listeners.ts';
import { lastResume, lastSuspend } from '../../contract/local/machine.ts';
import { resumeCause, resumeCertainty, resumeSignal } from '../../contract/local/resume.ts';
import { holdMode, holdName } from '../../contract/local/tasks.ts';
import { machineIncarnation } from '../../contract/resume-reports.ts';

const socket = z.object({
  fd: z.int(),
  listener: z.enum(listenerNames),
  /** The address as people write it: a path, `fd:3`, or `host:port`. */
  address: z.string(),
  /** The socket's file, when the agent made it. */
  file: z.object({ path: z.string(), ino: z.int() }).optional(),
});
export type RestartSocket = z.infer<typeof socket>;

const hold = z.object({
  name: holdName,
  mode: holdMode,
  reason: z.string().optional(),
  process: z.object({ pid: z.int(), started: z.string() }).optional(),
  created_wall_ms: z.number(),
  /** Run time left. Absent for a hold whose connection ends with this image. */
  left_ms: z.number().optional(),
});
export type RestartHold = z.infer<typeof hold>;

const resume = z.object({
  /** The incarnation, under a name that other releases read: the next image may be one of them. */
  life: machineIncarnation.extend({ nonce: z.string().optional(), isKnown: z.boolean() }),
  last: lastResume.optional(),
  /** The detector's counts when the hot restart began, so that the next image notices a restore that happens on the way. */
  counts: z.record(z.string(), z.number()).optional(),
  recent: z
    .object({
      cause: resumeCause,
      certainty: resumeCertainty,
      signals: z.array(resumeSignal),
      gap_ms: z.number().nullable(),
      wall_skew_ms: z.number().nullable(),
      restores: z.int().positive(),
      age_ms: z.number(),
    })
    .optional(),
});
export type RestartResume = z.infer<typeof resume>;

/** The event as published. The order of its fields is kept, because it is that of the line. */
const event = z.looseObject({ seq: z.int(), time: z.string(), generation: z.int(), type: z.string() });

const restartState = z.object({
  begun_wall_ms: z.number(),
  sockets: z.array(socket),
  resume,
  lastSuspend: lastSuspend.optional(),
  holds: z.array(hold),
  events: z.array(event),
  /** The token, where it cannot be read again. */
  token: z.string().optional(),
  /** The upgrade that this restart is for, when its caller waits at a socket: the connection, which the next image answers. */
  upgrade: z.object({ version_before: z.string(), caller: z.int() }).optional(),
});
export type RestartState = z.infer<typeof restartState>;

/** Throws when `text` is no restart state of this version of the agent. */
export function parseRestartState(text: string): RestartState {
  return restartState.parse(JSON.parse(text));
}
