// The commands of `remora` as tables: all of them in short, and each with its flags. Pure.
import type { Command, Flag } from '../command.ts';
import { toUsage } from '../help.ts';
import { toMarkdownTable } from './markdown-table.ts';

export function toCommandTable(commands: readonly Command[]): string {
  return toMarkdownTable(
    ['command', 'what it does'],
    commands.map((command) => [`\`remora ${command.name}\``, command.summary]),
  );
}

/** Flags that many commands have, then usage, other flags and notes of each command. */
export function toCommandPages(commands: readonly Command[]): string {
  const shared = sharedFlags(commands);
  return [toFlagTable(shared), ...commands.map((command) => toCommandPage(command, shared))].join('\n\n');
}

type Flags = Readonly<Record<string, Flag>>;

const MANY = 4;

function sharedFlags(commands: readonly Command[]): Flags {
  const all = commands.flatMap(({ flags }) => Object.entries(flags));
  return Object.fromEntries(
    all.filter(([name, flag]) => all.filter((other) => other[0] === name && other[1] === flag).length >= MANY),
  );
}

function toCommandPage(command: Command, shared: Flags): string {
  const isShared = ([name, flag]: [string, Flag]) => shared[name] === flag;
  const flags = Object.entries(command.flags);
  const own = flags.filter((flag) => !isShared(flag));
  const usual = flags.filter(isShared).map(([name]) => `\`--${name}\``);
  return [
    `### remora ${command.name}`,
    `\`${toUsage(command)}\``,
    ...(own.length === 0 ? [] : [toFlagTable(Object.fromEntries(own))]),
    ...(usual.length === 0 ? [] : [`${own.length === 0 ? 'Takes' : 'And'} ${usual.join(', ')}.`]),
    ...(command.notes === undefined ? [] : [command.notes.join('\n')]),
  ].join('\n\n');
}

export function toFlagTable(flags: Flags): string {
  return toMarkdownTable(
    ['flag', 'what it is'],
    Object.entries(flags).map(([name, { type, value, short, summary }]) => [
      `\`${short === undefined ? '' : `-${short}, `}--${name}${type === 'string' ? ` ${value ?? 'VALUE'}` : ''}\``,
      summary,
    ]),
  );
}
