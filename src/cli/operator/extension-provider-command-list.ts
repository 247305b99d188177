// The definitions of the commands of extension providers: names, operands, flags, and what to load.
import type { Flag } from '../command.ts';
import type { Word } from './operator-command.ts';

const settings = {
  'redirect-uri': {
    type: 'string',
    value: 'URL',
    multiple: true,
    summary: 'where sign-on may send a browser back to; may be given several times',
  },
  app: { type: 'string', value: 'APP', summary: 'the app of this platform that it runs as; update takes none too' },
  'region-aware': { type: 'boolean', summary: 'it is sent the regions of its extensions' },
  official: { type: 'boolean', summary: 'it is official; one that is latency-sensitive must then have an app' },
  'latency-sensitive': { type: 'boolean', summary: 'such as a database' },
  event: {
    type: 'string',
    value: 'EVENT',
    multiple: true,
    summary: 'what it is notified of besides its machines: user_added, user_removed, user_role_changed, host_trouble',
  },
  'revenue-share': {
    type: 'string',
    value: 'PERCENT',
    summary: 'what the operator keeps of its costs, such as 12.5 (0)',
  },
} as const satisfies Readonly<Record<string, Flag>>;

const not = {
  'not-region-aware': { type: 'boolean', summary: 'it is not' },
  'not-official': { type: 'boolean', summary: 'it is not' },
  'not-latency-sensitive': { type: 'boolean', summary: 'it is not' },
} as const satisfies Readonly<Record<string, Flag>>;

const baseUrl = {
  type: 'string',
  value: 'URL',
  summary: 'where it is called: https, or http on this machine',
} as const;

export const extensionProviderCommands: readonly Word[] = [
  {
    name: 'extension-provider list',
    scope: 'operator',
    summary: 'the providers of extensions, on the machine of the platform',
    load: async () => (await import('./extension-provider-commands.ts')).listProviders,
  },
  {
    name: 'extension-provider show',
    scope: 'operator',
    summary: 'one provider of extensions, without its secrets',
    operands: ['NAME'],
    load: async () => (await import('./extension-provider-commands.ts')).showProvider,
  },
  {
    name: 'extension-provider create',
    scope: 'operator',
    summary: 'register a provider of extensions; its secrets are printed once',
    operands: ['NAME'],
    flags: { 'base-url': baseUrl, ...settings },
    load: async () => (await import('./extension-provider-commands.ts')).createProvider,
  },
  {
    name: 'extension-provider update',
    scope: 'operator',
    summary: 'change a provider of extensions; lists that are given take the place of the earlier ones',
    operands: ['NAME'],
    flags: { 'base-url': baseUrl, ...settings, ...not },
    load: async () => (await import('./extension-provider-commands.ts')).updateProvider,
  },
  {
    name: 'extension-provider rotate-secret',
    scope: 'operator',
    summary: 'make a new secret of a provider (provisioning, webhook or client), printed once',
    operands: ['NAME', 'KIND'],
    flags: {
      overlap: { type: 'string', value: 'TIME', summary: 'how long the previous secret is good too (24h)' },
    },
    load: async () => (await import('./extension-provider-commands.ts')).rotateSecret,
  },
  {
    name: 'extension-provider delete',
    scope: 'operator',
    summary: 'forget a provider that has no extensions',
    operands: ['NAME'],
    load: async () => (await import('./extension-provider-commands.ts')).deleteProvider,
  },
];
