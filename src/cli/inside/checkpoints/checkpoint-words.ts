// The commands of checkpoints, as data.
import { jsonFlag } from '../../json-flag.ts';
import type { InsideWord } from '../inside-command.ts';

type Module = typeof import('./checkpoint-commands.ts');

function toWord(name: string, summary: string, run: keyof Module, rest: Partial<InsideWord> = {}): InsideWord {
  return {
    name: `checkpoint ${name}`,
    inner: true,
    summary,
    operands: 'ID',
    count: [1, 1],
    ...rest,
    flags: { ...rest.flags, json: jsonFlag },
    load: async () => ({ run: (await import('./checkpoint-commands.ts'))[run] }),
  };
}

const none = { operands: '', count: [0, 0] } as const;

export const checkpointWords: readonly InsideWord[] = [
  toWord('create', 'keep the files of a sprite as they are now; it is not woken for that', 'createCheckpoint', {
    ...none,
    flags: { comment: { type: 'string', short: 'm', value: 'TEXT', summary: 'what it is for' } },
  }),
  toWord('list', 'the checkpoints of a sprite', 'listCheckpoints', {
    ...none,
    flags: { history: { type: 'string', value: 'ID', summary: 'only this one and those that it comes from' } },
  }),
  toWord('show', 'one checkpoint', 'showCheckpoint'),
  toWord('restore', 'put the files of a sprite back; what runs in it ends, and it is booted', 'restoreCheckpoint'),
  toWord('delete', 'delete a checkpoint', 'deleteCheckpoint'),
];
