// What `--help` prints, made from the commands themselves. Pure.
import type { Command } from './command.ts';
import { commandsOf } from './find-command.ts';
import { toTable } from './table.ts';

const EXIT_CODES = [
  'Exit codes: 0 done; 1 it failed, or the answer is an error; 2 the command line is wrong; 3 nobody serves there.',
];

/** First words that several commands share, each with what it says of them and its heading, `platform` when absent. */
export type Kinds = readonly (readonly [name: string, summary: string, group?: Command['group']])[];

/** `kinds` are listed once each, in place of their commands. */
export function toOverview(commands: readonly Command[], kinds: Kinds = []): string[] {
  const list = (group: Command['group']) => {
    const own = commands.filter((command) => command.group === group && command.inner === undefined);
    const shared = kinds.filter((kind) => (kind[2] ?? 'platform') === group);
    return [
      ...toTable(own.map((command) => [`  ${command.name}`, command.summary])),
      ...toTable(shared.map(([kind, summary]) => [`  ${kind}`, summary])),
    ];
  };
  return [
    'usage: remora COMMAND [flags]',
    '',
    'Things that run:',
    ...list('run'),
    '',
    'Asking a running agent over its socket:',
    ...list('ask'),
    '',
    'Reaching into a sprite: from within over the socket, or from anywhere with --sprite NAME:',
    ...list('inside'),
    '',
    'Working on a platform, with a token from anywhere, or on its own machine without one:',
    ...list('platform'),
    '',
    'For the shell:',
    ...list('shell'),
    '',
    '`remora COMMAND --help` tells more. `remora --version` prints the version.',
    ...EXIT_CODES,
  ];
}

/** The help of a first word that several commands share. */
export function toKindHelp(kind: string, commands: readonly Command[]): string[] {
  return [`usage: remora ${kind} COMMAND [flags]`, '', ...toTable(toLines(commands)), '', ...EXIT_CODES];
}

/** `all`: the commands among which those that continue this one's name are listed. */
export function toCommandHelp(command: Command, all: readonly Command[] = []): string[] {
  const flags = [
    ...Object.entries(command.flags),
    ['help', { type: 'boolean', short: 'h', summary: 'this text' }] as const,
  ];
  const rows = flags.map(([name, flag]) => {
    const value = flag.type === 'string' ? ` ${('value' in flag ? flag.value : undefined) ?? 'VALUE'}` : '';
    return [`  ${flag.short === undefined ? '    ' : `-${flag.short}, `}--${name}${value}`, flag.summary];
  });
  const below = commandsOf(all, command.name);
  return [
    `usage: ${toUsage(command)}`,
    '',
    command.summary,
    '',
    'Flags:',
    ...toTable(rows),
    ...(below.length === 0 ? [] : ['', 'Beside it:', ...toTable(toLines(below))]),
    ...(command.notes === undefined ? [] : ['', ...command.notes]),
    ...(command.also === undefined ? [] : ['', `The same: ${command.also.map((name) => `remora ${name}`).join(', ')}`]),
    '',
    ...EXIT_CODES,
  ];
}

function toLines(commands: readonly Command[]): string[][] {
  return commands.map(({ name, operands, summary }) => [`  ${name}${operands === '' ? '' : ` ${operands}`}`, summary]);
}

export function toUsage(command: Command): string {
  return `remora ${command.name} [flags]${command.operands === '' ? '' : ` ${command.operands}`}`;
}
