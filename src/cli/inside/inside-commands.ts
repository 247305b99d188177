// Every command that reaches into a sprite: over the socket of the agent inside it, or through a platform.
import type { Command } from '../command.ts';
import type { Kinds } from '../help.ts';
import { checkpointWords } from './checkpoints/checkpoint-words.ts';
import { execWords } from './exec/exec-words.ts';
import { copyWords } from './files/copy-words.ts';
import { toInsideCommand } from './inside-command.ts';
import { networkWords } from './network/network-words.ts';
import { proxyWords } from './proxy/proxy-words.ts';
import { serviceWords } from './services/service-words.ts';
import { upgradeWords } from './upgrade/upgrade-words.ts';

export const insideCommands: readonly Command[] = [
  ...execWords,
  ...copyWords,
  ...serviceWords,
  ...proxyWords,
  ...checkpointWords,
  ...networkWords,
  ...upgradeWords,
].map(toInsideCommand);

/** The first words, for the overview. */
export const insideKinds: Kinds = [
  ['services', 'list, show, create, start, stop, restart, delete, logs, signal', 'inside'],
  ['checkpoint', 'create, list, show, restore, delete: the files of a sprite as they were', 'inside'],
];
