// The frame of a command that reaches into a sprite: the flags that choose it.
import type { Command, Flag } from '../command.ts';
import { elsewhereFlags, organizationFlag, placeFlags } from '../operator/operator-command.ts';
import { socketFlag } from '../socket-path.ts';

export const insideFlags: Readonly<Record<string, Flag>> = {
  sprite: {
    type: 'string',
    value: 'NAME',
    short: 's',
    summary: 'a sprite of a platform (REMORA_SPRITE); without it the sprite of this machine, over the socket',
  },
  socket: socketFlag,
  ...elsewhereFlags,
  dir: placeFlags.dir as Flag,
  ...organizationFlag,
};

export type InsideWord = Omit<Command, 'group' | 'flags'> & { readonly flags?: Readonly<Record<string, Flag>> };

export function toInsideCommand(word: InsideWord): Command {
  return { ...word, group: 'inside', flags: { ...word.flags, ...insideFlags } };
}
