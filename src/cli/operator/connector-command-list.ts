// The definitions of the commands of connectors: names, operands, flags, and what to load.
import { offlineFlags, type Word } from './operator-command.ts';

export const connectorCommands: readonly Word[] = [
  {
    name: 'connector list',
    summary: 'the connectors with their policies; never a credential',
    flags: { provider: { type: 'string', value: 'NAME', summary: 'of this provider' } },
    load: async () => (await import('./connector-commands.ts')).listConnectors,
  },
  {
    name: 'connector show',
    summary: 'one connector, by its id or its name',
    operands: ['CONNECTOR'],
    load: async () => (await import('./connector-commands.ts')).showConnector,
  },
  {
    name: 'connector create',
    summary: 'make a connector from an API key',
    operands: ['PROVIDER'],
    flags: {
      name: { type: 'string', value: 'NAME', summary: 'what to call it; stands for its id at the command line' },
      'api-key-file': { type: 'string', value: 'FILE', summary: 'where the key is; - is the input' },
      policy: { type: 'string', value: 'JSON', summary: 'who may use it, and what; nobody when absent' },
      'base-api-url': { type: 'string', value: 'URL', summary: 'for providers without an address of their own' },
      ...offlineFlags,
    },
    load: async () => (await import('./connector-commands.ts')).createConnector,
  },
  {
    name: 'connector policy',
    summary: 'who may use a connector, and what; with JSON (or - for the input) that takes the place of the policy',
    operands: ['CONNECTOR'],
    optional: 'JSON',
    flags: offlineFlags,
    load: async () => (await import('./connector-commands.ts')).connectorPolicy,
  },
  {
    name: 'connector name',
    summary: 'call a connector something else; - takes its name away',
    operands: ['CONNECTOR', 'NAME'],
    load: async () => (await import('./connector-commands.ts')).nameConnector,
  },
  {
    name: 'connector delete',
    summary: 'delete a connector, and end its credential at the provider where there is a way',
    operands: ['CONNECTOR'],
    flags: offlineFlags,
    load: async () => (await import('./connector-commands.ts')).deleteConnector,
  },
];
