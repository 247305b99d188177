// Every command that reaches into a sprite: over the socket of the agent inside it, or through a platform.
import type { Command } from '../command.ts';
import type { Kinds } from '../help.ts';
import { execWords } from './exec/exec-words.ts';
import { copyWords } from './files/copy-words.ts';
import { toInsideCommand } from './inside-command.ts';

export const insideCommands: readonly Command[] = [...execWords, ...copyWords].map(toInsideCommand);

/** The first words, for the overview. */
export const insideKinds: Kinds = [];
