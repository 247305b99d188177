// Parses one line of the node's stream: an event, a type that is not known, or an invalid line. Pure.
import { toFieldProblem } from '../../../contract/field-problem.ts';
import { type ReplicationEvent, replicationEvent, replicationLine } from '../../../contract/replication.ts';
import { BODY_LIMITS, parseBoundedJson } from '../../../core/bounded-json.ts';

export type StreamLine =
  | { readonly type: 'event'; readonly event: ReplicationEvent }
  | { readonly type: 'unknown'; readonly name: string }
  | { readonly type: 'invalid'; readonly reason: string };

/** A hundred times what any event of a node holds. A line that is all values takes longer than a turn of the loop should. */
const LINE_LIMITS = { ...BODY_LIMITS, values: 1_000 };

const known: ReadonlySet<string> = new Set(replicationEvent.options.map((option) => option.shape.type.value));

/** Unknown fields are dropped from `event`. Readers of GET /events get the line itself. */
export function parseStreamLine(line: string): StreamLine {
  let value: unknown;
  try {
    value = parseBoundedJson(line, LINE_LIMITS);
  } catch {
    return { type: 'invalid', reason: 'not JSON, or too much of it' };
  }
  const event = replicationEvent.safeParse(value, { error: toFieldProblem });
  if (event.success) return { type: 'event', event: event.data };
  const shape = replicationLine.safeParse(value);
  if (!shape.success) return { type: 'invalid', reason: 'not an object with a type' };
  if (!known.has(shape.data.type)) return { type: 'unknown', name: shape.data.type.slice(0, 64) };
  const issue = event.error.issues[0];
  return { type: 'invalid', reason: `${shape.data.type}: ${issue?.path.join('.') ?? ''}: ${issue?.message ?? ''}` };
}
