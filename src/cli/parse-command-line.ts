// Parses the arguments of `remora` to a command and its flags. Pure.
import { type ParseArgsOptionDescriptor, parseArgs } from 'node:util';
import type { Command } from './command.ts';
import { UsageError } from './exit-code.ts';
import { commandsOf, didYouMean, type Found, findCommand, namesOf } from './find-command.ts';

export type FlagValue = string | boolean | readonly string[];

export type CommandLine =
  | { readonly type: 'overview' }
  | { readonly type: 'version' }
  | { readonly type: 'help'; readonly command: Command }
  | { readonly type: 'kind'; readonly kind: string; readonly commands: readonly Command[] }
  | {
      readonly type: 'run';
      readonly command: Command;
      readonly operands: readonly string[];
      readonly values: Readonly<Record<string, FlagValue>>;
    };

/** Throws UsageError for a command, flag or number of operands that does not exist. */
export function parseCommandLine(commands: readonly Command[], words: readonly string[]): CommandLine {
  const [first, ...rest] = words;
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) return { type: 'overview' };
  if (first === '--version' || first === '-V') return { type: 'version' };
  if (first === 'help') {
    const found = findCommand(commands, rest);
    if (found.type === 'command' && found.rest.length === 0) return { type: 'help', command: found.command };
    return found.type === 'kind' && found.rest.length === 0 ? found : refuse(commands, found);
  }
  const found = findCommand(commands, words);
  if (found.type === 'kind') return isHelp(found.rest[0]) ? found : refuse(commands, found);
  const { command } = found;
  const [operand] = found.rest;
  // `remora platform sprte list`: the word is a misspelt command that begins with this one's name.
  if (command.count[1] === 0 && operand !== undefined && !operand.startsWith('-')) {
    if (commandsOf(commands, command.name).length > 0) return refuse(commands, found);
  }
  return command.raw === true ? parseRaw(command, found.rest) : parseFlags(command, found.rest);
}

/** Throws for words that begin like several commands and match none. */
function refuse(commands: readonly Command[], found: Found): never {
  const kind = found.type === 'kind' ? found.kind : found.command.name;
  const [word] = found.rest;
  const below = commandsOf(commands, kind).flatMap(namesOf);
  const verbs = [
    ...new Set(below.filter((name) => name.startsWith(`${kind} `)).map((name) => name.slice(kind.length + 1))),
  ];
  if (word === undefined || word.startsWith('-')) throw new UsageError(`${kind}: expected ${verbs.join(', ')}`);
  const given = verbs.some((verb) => verb.startsWith(`${word} `)) ? found.rest.slice(0, 2).join(' ') : word;
  throw new UsageError(
    `there is nothing called ${given} in ${kind}${didYouMean(given, [...verbs, ...verbs.map((verb) => verb.split(' ')[0] ?? '')])}${verbs.length === 0 ? '' : `; there are ${verbs.join(', ')}`}`,
  );
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h';
}

function parseFlags(command: Command, words: readonly string[]): CommandLine {
  const options: Record<string, ParseArgsOptionDescriptor> = { help: { type: 'boolean', short: 'h' } };
  for (const [name, { type, short, multiple }] of Object.entries(command.flags)) {
    options[name] = {
      type,
      ...(short === undefined ? {} : { short }),
      ...(multiple === undefined ? {} : { multiple }),
    };
  }
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    const args = command.runs === true ? endFlags(words, options) : [...words];
    parsed = parseArgs({ args, options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(`${command.name}: ${toFlagProblem(error, Object.keys(options))}`);
  }
  if (parsed.values.help === true) return { type: 'help', command };
  const [least, most] = command.count;
  const operands = parsed.positionals;
  if (operands.length < least) throw new UsageError(`${command.name}: expected ${command.operands}`);
  if (operands.length > most) throw new UsageError(`${command.name}: ${operands[most]} is one operand too many`);
  return { type: 'run', command, operands, values: toValues(parsed.values) };
}

/** Puts `--` before the first operand, after which nothing is a flag. */
function endFlags(words: readonly string[], options: Readonly<Record<string, ParseArgsOptionDescriptor>>): string[] {
  const { tokens } = parseArgs({ args: [...words], options, allowPositionals: true, strict: false, tokens: true });
  const first = tokens.find(({ kind }) => kind !== 'option');
  if (first === undefined || first.kind === 'option-terminator') return [...words];
  return [...words.slice(0, first.index), '--', ...words.slice(first.index)];
}

/** Keeps the first sentence of Node's message, which says what is wrong; the rest explains quoting. */
function toFlagProblem(error: unknown, flags: readonly string[]): string {
  const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
  const unknown = /^Unknown option '--([\w-]+)/.exec(message)?.[1];
  const near =
    unknown === undefined
      ? ''
      : didYouMean(
          `--${unknown}`,
          flags.map((flag) => `--${flag}`),
        );
  return `${message.replaceAll('\n', ' ')}${near}`;
}

function parseRaw(command: Command, words: readonly string[]): CommandLine {
  if (isHelp(words[0])) return { type: 'help', command };
  if (words[0] !== '--socket') {
    if (words.length < command.count[0]) throw new UsageError(`${command.name}: expected ${command.operands}`);
    return { type: 'run', command, operands: words, values: {} };
  }
  const [, socket, ...operands] = words;
  if (socket === undefined) throw new UsageError(`${command.name}: --socket needs a path`);
  if (operands.length < command.count[0]) throw new UsageError(`${command.name}: expected ${command.operands}`);
  return { type: 'run', command, operands, values: { socket } };
}

function toValues(values: Readonly<Record<string, unknown>>): Record<string, FlagValue> {
  const kept: Record<string, FlagValue> = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' || typeof value === 'boolean') kept[name] = value;
    else if (Array.isArray(value)) kept[name] = value.map(String);
  }
  return kept;
}
