// The lines of the emulator's control protocol, QMP: the greeting, answers and events. Pure.
import { z } from 'zod';

const greeting = z.object({ QMP: z.object({ version: z.object({ qemu: z.unknown() }) }) });
const answer = z.object({ return: z.unknown(), id: z.int() });
const failure = z.object({ error: z.object({ class: z.string(), desc: z.string() }), id: z.int() });
const event = z.object({ event: z.string(), data: z.record(z.string(), z.unknown()).optional() });

export interface QmpEvent {
  /** Such as `SHUTDOWN`, `STOP` or `BLOCK_IO_ERROR`. */
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export type QmpMessage =
  | { readonly type: 'greeting' }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'failure'; readonly id: number; readonly text: string }
  | ({ readonly type: 'event' } & QmpEvent);

/** Undefined for what is no message of the protocol, and for one that a newer emulator may have added. */
export function parseQmpMessage(line: string): QmpMessage | undefined {
  const value = parseJson(line);
  const answered = answer.safeParse(value);
  if (answered.success) return { type: 'answer', id: answered.data.id, value: answered.data.return };
  const failed = failure.safeParse(value);
  if (failed.success) return { type: 'failure', id: failed.data.id, text: failed.data.error.desc };
  const happened = event.safeParse(value);
  if (happened.success) return { type: 'event', event: happened.data.event, data: happened.data.data ?? {} };
  return greeting.safeParse(value).success ? { type: 'greeting' } : undefined;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
