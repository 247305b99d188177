// What `--help` prints, made from the commands themselves. Pure.
import type { Command } from './command.ts';
import { toTable } from './table.ts';

const EXIT_CODES = [
  'Exit codes: 0 done; 1 it failed, or the answer is an error; 2 the command line is wrong; 3 nobody serves on the socket.',
];

export function toOverview(commands: readonly Command[]): string[] {
  const list = (group: Command['group']) =>
    toTable(
      commands.filter((command) => command.group === group).map((command) => [`  ${command.name}`, command.summary]),
    );
  return [
    'usage: remora COMMAND [flags]',
    '',
    'Things that run:',
    ...list('run'),
    '',
    'Asking a running agent over its socket:',
    ...list('ask'),
    '',
    '`remora COMMAND --help` tells more. `remora --version` prints the version.',
    ...EXIT_CODES,
  ];
}

export function toCommandHelp(command: Command): string[] {
  const flags = [
    ...Object.entries(command.flags),
    ['help', { type: 'boolean', short: 'h', summary: 'this text' }] as const,
  ];
  const rows = flags.map(([name, flag]) => {
    const value = flag.type === 'string' ? ` ${('value' in flag ? flag.value : undefined) ?? 'VALUE'}` : '';
    return [`  ${flag.short === undefined ? '    ' : `-${flag.short}, `}--${name}${value}`, flag.summary];
  });
  return [
    `usage: ${toUsage(command)}`,
    '',
    command.summary,
    '',
    'Flags:',
    ...toTable(rows),
    ...(command.notes === undefined ? [] : ['', ...command.notes]),
    '',
    ...EXIT_CODES,
  ];
}

export function toUsage(command: Command): string {
  return `remora ${command.name} [flags]${command.operands === '' ? '' : ` ${command.operands}`}`;
}
