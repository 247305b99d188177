// The definitions of the commands of an app's secrets: names, operands, flags, and what to load.
import { offlineFlags, type Word } from './operator-command.ts';

const app = {
  type: 'string',
  value: 'APP',
  summary: 'of this app; the one named like the organization when absent',
} as const;

export const secretCommands: readonly Word[] = [
  {
    name: 'secret list',
    summary: 'the secrets of an app, with who has set each; never a value',
    flags: { app },
    load: async () => (await import('./secret-commands.ts')).listSecrets,
  },
  {
    name: 'secret set',
    summary: 'set a secret of an app, whose value is read from the input: `remora secret set NAME --app APP < FILE`',
    operands: ['NAME'],
    flags: { app, ...offlineFlags },
    notes: [
      'A newline at the end of the input is not part of the value. Programs that are started in the machines of the app from then on see it',
      'as a variable; services that run keep what they have, unless they were defined with restart_on_environment_change.',
    ],
    load: async () => (await import('./secret-commands.ts')).setSecret,
  },
  {
    name: 'secret delete',
    summary: 'delete a secret of an app; programs that run keep it',
    operands: ['NAME'],
    flags: { app },
    load: async () => (await import('./secret-commands.ts')).deleteSecret,
  },
];
