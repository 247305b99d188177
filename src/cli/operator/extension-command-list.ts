// The definitions of the commands of extensions: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

const regions = {
  'primary-region': { type: 'string', value: 'REGION', summary: 'where the app writes, such as fra' },
  'read-regions': { type: 'string', value: 'LIST', summary: 'where it reads, such as fra,ams' },
} as const;
const noWait = { type: 'boolean', summary: 'do not wait until the provider has done it' } as const;

export const extensionCommands: readonly Word[] = [
  {
    name: 'extension create',
    summary:
      'provision an extension at a provider, and wait until it is ready: `remora extension create kv my-kv --app web`',
    operands: ['PROVIDER', 'NAME'],
    flags: {
      app: { type: 'string', value: 'APP', summary: 'the app whose programs get its variables' },
      user: {
        type: 'string',
        value: 'ID',
        summary: 'in whose name (whom the token was made for; for the operator, the first admin)',
      },
      ...regions,
      'no-wait': noWait,
    },
    load: async () => (await import('./extension-commands.ts')).createExtension,
  },
  {
    name: 'extension list',
    summary: 'the extensions of the organization, with their states',
    load: async () => (await import('./extension-commands.ts')).listExtensions,
  },
  {
    name: 'extension show',
    summary: 'one extension, with the names of its variables',
    operands: ['NAME'],
    flags: { refresh: { type: 'boolean', summary: 'ask the provider first' } },
    load: async () => (await import('./extension-commands.ts')).showExtension,
  },
  {
    name: 'extension update',
    summary: 'give its variables to another app, or change its regions',
    operands: ['NAME'],
    flags: {
      app: { type: 'string', value: 'APP', summary: 'the app whose programs get its variables; none for no app' },
      ...regions,
      'no-wait': noWait,
    },
    load: async () => (await import('./extension-commands.ts')).updateExtension,
  },
  {
    name: 'extension retry',
    summary: 'try again what has failed',
    operands: ['NAME'],
    flags: { 'no-wait': noWait },
    load: async () => (await import('./extension-commands.ts')).retryExtension,
  },
  {
    name: 'extension delete',
    summary: 'delete an extension at its provider; programs that are started later do not get its variables',
    operands: ['NAME'],
    flags: { 'no-wait': noWait },
    load: async () => (await import('./extension-commands.ts')).deleteExtension,
  },
  {
    name: 'extension open',
    summary: 'print the address at which a browser signs on at the provider',
    operands: ['NAME'],
    load: async () => (await import('./extension-commands.ts')).openExtension,
  },
];
