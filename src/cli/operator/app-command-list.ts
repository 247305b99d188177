// The definitions of the commands of apps: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

export const appCommands: readonly Word[] = [
  {
    name: 'app list',
    summary: 'the apps of the organization, with how many machines each has',
    load: async () => (await import('./app-commands.ts')).listApps,
  },
  {
    name: 'app create',
    summary: 'make an app; a name is given once on a platform',
    operands: ['NAME'],
    load: async () => (await import('./app-commands.ts')).createApp,
  },
  {
    name: 'app delete',
    summary: 'delete an app that has no machines',
    operands: ['NAME'],
    load: async () => (await import('./app-commands.ts')).deleteApp,
  },
];
