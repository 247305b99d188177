// The definitions of the commands of what extensions cost: names, operands, flags, and what to load.
import type { Flag } from '../command.ts';
import type { Word } from './operator-command.ts';

const days = {
  since: { type: 'string', value: 'DAY', summary: 'costs that begin on this day or later, such as 2026-01-31' },
  until: { type: 'string', value: 'DAY', summary: 'costs that begin on this day or before' },
} as const satisfies Readonly<Record<string, Flag>>;

export const costCommands: readonly Word[] = [
  {
    name: 'costs list',
    scope: 'operator',
    summary: 'what extensions have cost, by provider, organization and currency, and what is held',
    flags: {
      ...days,
      provider: { type: 'string', value: 'NAME', summary: 'of this provider' },
      customer: { type: 'string', value: 'NAME', summary: 'of this organization' },
      csv: { type: 'boolean', summary: 'the totals as CSV' },
    },
    load: async () => (await import('./cost-commands.ts')).listCosts,
  },
  {
    name: 'costs fetch',
    scope: 'operator',
    summary: 'ask a provider for its costs now; it is asked three times a day anyway',
    operands: ['PROVIDER'],
    load: async () => (await import('./cost-commands.ts')).fetchCosts,
  },
];

export const extensionCostCommands: readonly Word[] = [
  {
    name: 'extension costs',
    summary: 'what an extension has cost',
    operands: ['ID'],
    flags: days,
    load: async () => (await import('./cost-commands.ts')).listExtensionCosts,
  },
];
