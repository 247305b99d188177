// What one line of the node's stream is: an event, a type that is not known yet, or nothing that can be used. Pure.
import { type ReplicationEvent, replicationEvent, replicationLine } from '../../contract/replication.ts';

export type StreamLine =
  | { readonly type: 'event'; readonly event: ReplicationEvent }
  | { readonly type: 'unknown'; readonly name: string }
  | { readonly type: 'invalid'; readonly reason: string };

const known: ReadonlySet<string> = new Set(replicationEvent.options.map((option) => option.shape.type.value));

/** Unknown fields are dropped from `event`; the line itself is what readers of the re-broadcast get. */
export function parseStreamLine(line: string): StreamLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { type: 'invalid', reason: 'not JSON' };
  }
  const event = replicationEvent.safeParse(value);
  if (event.success) return { type: 'event', event: event.data };
  const shape = replicationLine.safeParse(value);
  if (!shape.success) return { type: 'invalid', reason: 'not an object with a type' };
  if (!known.has(shape.data.type)) return { type: 'unknown', name: shape.data.type.slice(0, 64) };
  const issue = event.error.issues[0];
  return { type: 'invalid', reason: `${shape.data.type}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}` };
}
