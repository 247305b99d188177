// The definitions of the commands of organizations, of the platform's hosts, and of usage: names, operands, flags, and what to load.
import type { Word } from './operator-command.ts';

const limits = {
  'display-name': {
    type: 'string',
    value: 'TEXT',
    summary: 'as providers of extensions show it, or none for its name',
  },
  'running-limit': { type: 'string', value: 'N', summary: 'sprites that may run at once, or none for any number' },
  'warm-limit': { type: 'string', value: 'N', summary: 'sprites kept warm at once, or none for any number' },
  'creation-limit': {
    type: 'string',
    value: 'N',
    summary: "sprites that may be created in a minute, or none for the platform's own limit",
  },
} as const;

export const organizationCommands: readonly Word[] = [
  {
    name: 'organization list',
    scope: 'operator',
    summary: 'the organizations of a platform, on its own machine',
    load: async () => (await import('./organization-commands.ts')).listOrganizations,
  },
  {
    name: 'organization create',
    scope: 'operator',
    summary: 'make an organization, on the machine of the platform',
    operands: ['NAME'],
    flags: limits,
    load: async () => (await import('./organization-commands.ts')).createOrganization,
  },
  {
    name: 'organization update',
    also: ['organization limit'],
    scope: 'operator',
    summary: 'change its limits, on the machine of the platform',
    operands: ['NAME'],
    flags: limits,
    load: async () => (await import('./organization-commands.ts')).updateOrganization,
  },
  {
    name: 'organization delete',
    scope: 'operator',
    summary: 'delete an organization with its tokens and usage, on the machine of the platform',
    operands: ['NAME'],
    flags: {
      force: { type: 'boolean', summary: 'with its sprites, their files, and its connectors; else it may have none' },
    },
    load: async () => (await import('./organization-commands.ts')).deleteOrganization,
  },
  {
    name: 'host list',
    scope: 'operator',
    summary: 'the platform processes on one database, with the memory that their machines have reserved',
    load: async () => (await import('./organization-commands.ts')).listHosts,
  },
  {
    name: 'host drain',
    scope: 'operator',
    summary: 'stop the machines of a host for maintenance; it starts none until host undrain',
    flags: { host: { type: 'string', value: 'ID', summary: 'which one (the one that answers)' } },
    load: async () => (await import('./organization-commands.ts')).drainHost,
  },
  {
    name: 'host undrain',
    scope: 'operator',
    summary: 'let a host start machines again; those that the drain stopped run again',
    flags: { host: { type: 'string', value: 'ID', summary: 'which one (the one that answers)' } },
    load: async () => (await import('./organization-commands.ts')).undrainHost,
  },
  {
    name: 'host forget',
    scope: 'operator',
    summary: 'give up a platform process that is gone for good; its machines start where they are asked',
    operands: ['HOST'],
    load: async () => (await import('./organization-commands.ts')).forgetHost,
  },
];

/** The commands of the organization that the token belongs to; `organization show NAME` of the operator takes the name as an operand. */
export const ownCommands: readonly Word[] = [
  {
    name: 'organization show',
    summary: 'the organization of the token, with its limits',
    load: async () => (await import('./organization-commands.ts')).showOrganization,
  },
  {
    name: 'usage list',
    summary: 'what was called through the gateway, by day and connector',
    flags: {
      since: { type: 'string', value: 'DAY', summary: 'first day, such as 2026-01-31 (thirty days ago)' },
      until: { type: 'string', value: 'DAY', summary: 'last day (today)' },
      connector: { type: 'string', value: 'ID', summary: 'of this connector' },
      sprite: { type: 'string', value: 'NAME', summary: 'of this sprite' },
    },
    load: async () => (await import('./organization-commands.ts')).listUsage,
  },
  {
    name: 'usage machines',
    summary: 'how long machines were in each state, and what their volumes took, by day and app',
    flags: {
      since: { type: 'string', value: 'DAY', summary: 'first day, such as 2026-01-31 (thirty days ago)' },
      until: { type: 'string', value: 'DAY', summary: 'last day (today)' },
    },
    load: async () => (await import('./organization-commands.ts')).listMachineUsage,
  },
];
