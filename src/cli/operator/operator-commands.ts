// Every command that works on a platform: under its own name, from anywhere with a token or on the platform's machine, and under
// `remora platform` for the platform of this machine.
import type { Command } from '../command.ts';
import { appCommands } from './app-command-list.ts';
import { connectorCommands } from './connector-command-list.ts';
import { costCommands, extensionCostCommands } from './cost-command-list.ts';
import { extensionCommands } from './extension-command-list.ts';
import { extensionProviderCommands } from './extension-provider-command-list.ts';
import { machineCommands, machineLogsCommand, machineWhyCommand } from './machine-command-list.ts';
import { toCommand, toPinnedCommand, toPlatformCommand, type Word } from './operator-command.ts';
import { organizationCommands, ownCommands } from './organization-command-list.ts';
import { secretCommands } from './secret-command-list.ts';
import { spriteCommands } from './sprite-command-list.ts';
import { tokenCommands } from './token-command-list.ts';
import { userCommands } from './user-command-list.ts';

const words: readonly Word[] = [
  ...spriteCommands,
  ...connectorCommands,
  ...appCommands,
  ...machineCommands,
  ...tokenCommands,
  ...ownCommands,
  ...organizationCommands,
  ...userCommands,
  ...extensionProviderCommands,
  ...costCommands,
];

/** These take no ORGANIZATION below `remora platform`: `--organization` says whose. */
const pinnedWords: readonly Word[] = [...secretCommands, ...extensionCommands, ...extensionCostCommands];

/** The first words, for the overview; `remora sprite --help` lists what follows. */
export const kinds: readonly (readonly [name: string, summary: string])[] = [
  ['sprite', 'list, show, create, update, delete'],
  ['connector', 'list, show, create, name, policy, delete: credentials for providers, and who may use them'],
  ['app', 'list, create, delete: the names under which an organization has its machines'],
  ['secret', 'list, set, delete: variables that only the programs in the machines of an app see'],
  ['extension', 'create, list, show, update, retry, delete, open, costs: resources at providers, and their variables'],
  [
    'machine',
    'list, show, create, update, start, stop, restart, suspend, wait, logs, why, lease, cordon, destroy, adopt',
  ],
  ['token', 'list, create, delete'],
  ['usage', 'list: what was called through the gateway; machines: how long machines were in each state'],
  ['organization', 'show; on the machine of the platform also list, create, update, delete'],
  ['user', 'list, create, set-role, remove, reset-password, delete: people who sign on at providers'],
  ['extension-provider', 'list, show, create, update, rotate-secret, delete: on the machine of the platform'],
  ['costs', 'list, fetch: what extensions have cost; on the machine of the platform'],
  ['host', 'list, drain, undrain, forget: the platform processes on one database'],
];

export const wordCommands: readonly Command[] = [...words, ...pinnedWords].map(toCommand);

export const platformWordCommands: readonly Command[] = [
  ...words.map(toPlatformCommand),
  ...pinnedWords.map((word) => toPinnedCommand(word, `platform ${word.name}`)),
  toPinnedCommand(machineLogsCommand, 'platform logs'),
  toPinnedCommand(machineWhyCommand, 'platform why'),
];
