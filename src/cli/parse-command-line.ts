// From the words after `remora` to a command and its flags. Pure.
import { parseArgs } from 'node:util';
import type { Command } from './command.ts';
import { UsageError } from './exit-code.ts';

export type CommandLine =
  | { readonly type: 'overview' }
  | { readonly type: 'version' }
  | { readonly type: 'help'; readonly command: Command }
  | {
      readonly type: 'run';
      readonly command: Command;
      readonly operands: readonly string[];
      readonly values: Readonly<Record<string, string | boolean>>;
    };

/** Throws UsageError for a command, flag or number of operands that does not exist. */
export function parseCommandLine(commands: readonly Command[], words: readonly string[]): CommandLine {
  const [first, ...rest] = words;
  if (first === '--help' || first === '-h' || (first === 'help' && rest.length === 0)) return { type: 'overview' };
  if (first === '--version' || first === '-V') return { type: 'version' };
  if (first === 'help') return { type: 'help', command: find(commands, rest[0]) };
  const command = find(commands, first);
  return command.raw === true ? parseRaw(command, rest) : parseFlags(command, rest);
}

function find(commands: readonly Command[], name: string | undefined): Command {
  if (name === undefined) throw new UsageError('a command is missing');
  const command = commands.find((candidate) => candidate.name === name);
  if (command === undefined) {
    throw new UsageError(
      name.startsWith('-') ? `there is no flag ${name} before a command` : `there is no command ${name}`,
    );
  }
  return command;
}

function parseFlags(command: Command, words: readonly string[]): CommandLine {
  const options: Record<string, { type: 'string' | 'boolean'; short?: string }> = {
    help: { type: 'boolean', short: 'h' },
  };
  for (const [name, flag] of Object.entries(command.flags)) {
    options[name] = flag.short === undefined ? { type: flag.type } : { type: flag.type, short: flag.short };
  }
  let parsed: { values: Record<string, unknown>; positionals: string[] };
  try {
    parsed = parseArgs({ args: [...words], options, allowPositionals: true, strict: true });
  } catch (error) {
    // Node explains at length how to pass what looks like a flag; the first sentence says what is wrong.
    const message = error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error);
    throw new UsageError(`${command.name}: ${message.replaceAll('\n', ' ')}`);
  }
  if (parsed.values.help === true) return { type: 'help', command };
  const [least, most] = command.count;
  const operands = parsed.positionals;
  if (operands.length < least) throw new UsageError(`${command.name}: expected ${command.operands}`);
  if (operands.length > most) throw new UsageError(`${command.name}: ${operands[most]} is one operand too many`);
  return { type: 'run', command, operands, values: toValues(parsed.values) };
}

function parseRaw(command: Command, words: readonly string[]): CommandLine {
  if (words[0] === '--help' || words[0] === '-h') return { type: 'help', command };
  if (words[0] !== '--socket') {
    if (words.length < command.count[0]) throw new UsageError(`${command.name}: expected ${command.operands}`);
    return { type: 'run', command, operands: words, values: {} };
  }
  const [, socket, ...operands] = words;
  if (socket === undefined) throw new UsageError(`${command.name}: --socket needs a path`);
  if (operands.length < command.count[0]) throw new UsageError(`${command.name}: expected ${command.operands}`);
  return { type: 'run', command, operands, values: { socket } };
}

function toValues(values: Readonly<Record<string, unknown>>): Record<string, string | boolean> {
  const kept: Record<string, string | boolean> = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value === 'string' || typeof value === 'boolean') kept[name] = value;
  }
  return kept;
}
