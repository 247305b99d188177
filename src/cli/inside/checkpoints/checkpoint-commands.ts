// `remora checkpoint …`: each function is one command.
import { UpstreamError } from '../../../client/upstream-error.ts';
import { type CheckpointEvent, type CheckpointInfo, checkpointId } from '../../../contract/checkpoints.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, LostError, UsageError } from '../../exit-code.ts';
import { print, toWhen } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside } from '../sprite-door.ts';

/** Copying the files of a sprite takes as long as they are large. */
const LONG_MS = 3_600_000;

export async function listCheckpoints(invocation: Invocation): Promise<number> {
  const { text, has, out } = invocation;
  const history = text('history');
  const query = history === undefined ? {} : { history: toId(history) };
  const all = await askInside(invocation, ({ client }) => client.call('listCheckpoints', { params: {}, query }));
  if (all.length === 0 && !has('json')) {
    out.line('there is no checkpoint');
    return exitCode.ok;
  }
  return print(invocation, all, [
    ['ID', 'CREATED', 'FROM', 'BY ITSELF', 'HEALTH', 'COMMENT'],
    ...all.map((each) => [
      each.id,
      toWhen(each.create_time),
      each.source_id ?? '-',
      each.is_auto === true ? 'yes' : 'no',
      toHealth(each),
      each.comment ?? '',
    ]),
  ]);
}

export async function showCheckpoint(invocation: Invocation): Promise<number> {
  const id = operandId(invocation);
  const shown = await askInside(invocation, ({ client }) => client.call('readCheckpoint', { params: { id } }));
  return print(invocation, shown, [
    ['id', shown.id],
    ['created', toWhen(shown.create_time)],
    ['from', shown.source_id ?? '-'],
    ['by itself', shown.is_auto === true ? 'yes' : 'no'],
    ['health', toHealth(shown)],
    ['comment', shown.comment ?? '-'],
  ]);
}

export async function createCheckpoint(invocation: Invocation): Promise<number> {
  const comment = invocation.text('comment');
  const body = comment === undefined ? {} : { comment };
  return await askInside(invocation, ({ client }) =>
    report(invocation, client.stream('createCheckpoint', { params: {}, body, timeout_ms: LONG_MS })),
  );
}

/** The programs and services of the sprite end. */
export async function restoreCheckpoint(invocation: Invocation): Promise<number> {
  const id = operandId(invocation);
  return await askInside(invocation, ({ client }) =>
    report(invocation, client.stream('restoreCheckpoint', { params: { id }, timeout_ms: LONG_MS })),
  );
}

export async function deleteCheckpoint(invocation: Invocation): Promise<number> {
  const id = operandId(invocation);
  await askInside(invocation, ({ client }) => client.call('deleteCheckpoint', { params: { id }, timeout_ms: LONG_MS }));
  return print(invocation, { deleted: id }, [[`${id} is deleted`]]);
}

/** Progress goes to standard error, what came of it to standard output. Throws LostError when the stream ends before that is known. */
async function report(invocation: Invocation, events: AsyncIterable<CheckpointEvent>): Promise<number> {
  let hasBegun = false;
  try {
    for await (const event of events) {
      hasBegun = true;
      const code = show(invocation, event);
      if (code !== undefined) return code;
    }
  } catch (error) {
    if (!hasBegun || !(error instanceof UpstreamError)) throw error;
  }
  throw new LostError('the connection was lost; `remora checkpoint list` shows what came of it');
}

/** The exit code, when this is the last line. */
function show({ out, has }: Invocation, event: CheckpointEvent): number | undefined {
  if (has('json')) out.line(JSON.stringify(event));
  switch (event.type) {
    case 'info':
      if (!has('json')) out.note(toPrintable(event.data));
      return undefined;
    case 'complete':
      if (!has('json')) out.line(toPrintable(event.data));
      return exitCode.ok;
    case 'error':
      out.note(`error: ${toPrintable(event.error)}`);
      return exitCode.failed;
    default:
      return event satisfies never;
  }
}

function operandId({ operands }: Invocation): string {
  return toId(operands[0] ?? '');
}

function toId(text: string): string {
  if (checkpointId.safeParse(text).success) return text;
  throw new UsageError(`checkpoint: expected v and a number, such as v3, not ${text}`);
}

function toHealth({ health }: CheckpointInfo): string {
  return health === undefined || health === '' ? 'good' : health;
}
