// `remora checkpoint …`: each function is one command.
import { type CheckpointEvent, type CheckpointInfo, checkpointId } from '../../../contract/checkpoints.ts';
import type { Invocation } from '../../command.ts';
import { exitCode, LostError, UsageError } from '../../exit-code.ts';
import { print, toWhen } from '../../operator/print.ts';
import { toPrintable } from '../../table.ts';
import { askInside, type SpriteDoor } from '../sprite-door.ts';

/** Copying the files of a sprite takes as long as they are large. */
const LONG_MS = 3_600_000;

export async function listCheckpoints(invocation: Invocation): Promise<number> {
  const { text, has, out } = invocation;
  const history = text('history');
  const query = history === undefined ? {} : { history: toId(history) };
  const all = await ask(invocation, ({ platform }, name) =>
    platform.call('listCheckpoints', { params: { name }, query }),
  );
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
  const shown = await ask(invocation, ({ platform }, name) =>
    platform.call('readCheckpoint', { params: { name, id } }),
  );
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
  return await ask(invocation, ({ platform }, name) =>
    report(invocation, platform.stream('createCheckpoint', { params: { name }, body, timeout_ms: LONG_MS })),
  );
}

/** The programs and services of the sprite end. */
export async function restoreCheckpoint(invocation: Invocation): Promise<number> {
  const id = operandId(invocation);
  return await ask(invocation, ({ platform }, name) =>
    report(invocation, platform.stream('restoreCheckpoint', { params: { name, id }, timeout_ms: LONG_MS })),
  );
}

export async function deleteCheckpoint(invocation: Invocation): Promise<number> {
  const id = operandId(invocation);
  await ask(invocation, ({ platform }, name) =>
    platform.call('deleteCheckpoint', { params: { name, id }, timeout_ms: LONG_MS }),
  );
  return print(invocation, { deleted: id }, [[`${id} is deleted`]]);
}

async function ask<T>(
  invocation: Invocation,
  work: (door: SpriteDoor, name: string) => T | Promise<T>,
): Promise<Awaited<T>> {
  return await askInside(invocation, async (door) => {
    if (door.sprite !== undefined) return await work(door, door.sprite);
    throw new UsageError('checkpoint: the platform makes checkpoints; --sprite NAME says of which sprite');
  });
}

/** Progress goes to standard error, what came of it to standard output. */
async function report({ out, has }: Invocation, events: AsyncIterable<CheckpointEvent>): Promise<number> {
  for await (const event of events) {
    if (has('json')) out.line(JSON.stringify(event));
    switch (event.type) {
      case 'info':
        if (!has('json')) out.note(toPrintable(event.data));
        break;
      case 'complete':
        if (!has('json')) out.line(toPrintable(event.data));
        return exitCode.ok;
      case 'error':
        out.note(`error: ${toPrintable(event.error)}`);
        return exitCode.failed;
      default:
        event satisfies never;
    }
  }
  throw new LostError('the connection to the platform was lost; `remora checkpoint list` shows what came of it');
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
