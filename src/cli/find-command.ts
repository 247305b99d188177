// Finds the command that the arguments name; a name may have several words. Pure.
import type { Command } from './command.ts';
import { UsageError } from './exit-code.ts';
import { suggest } from './suggest.ts';

const WORDS_MAX = 4;

export type Found =
  | { readonly type: 'command'; readonly command: Command; readonly rest: readonly string[] }
  /** The arguments are only the first word of several commands. */
  | {
      readonly type: 'kind';
      readonly kind: string;
      readonly commands: readonly Command[];
      readonly rest: readonly string[];
    };

export function namesOf({ name, also = [] }: Command): readonly string[] {
  return [name, ...also];
}

/** The commands whose names begin with these words and have more. */
export function commandsOf(commands: readonly Command[], kind: string): readonly Command[] {
  return commands.filter(({ name }) => name.startsWith(`${kind} `));
}

/** The command with the longest name wins. Throws UsageError when there is none. */
export function findCommand(commands: readonly Command[], words: readonly string[]): Found {
  const [first] = words;
  if (first === undefined) throw new UsageError('a command is missing');
  const lengths = Array.from({ length: Math.min(WORDS_MAX, words.length) }, (_, index) => index + 1).reverse();
  for (const length of lengths) {
    const wanted = words.slice(0, length).join(' ');
    const command = commands.find((candidate) => namesOf(candidate).includes(wanted));
    if (command !== undefined) return { type: 'command', command, rest: words.slice(length) };
    const below = commandsOf(commands, wanted);
    if (below.length > 0) return { type: 'kind', kind: wanted, commands: below, rest: words.slice(length) };
  }
  if (first.startsWith('-')) throw new UsageError(`there is no flag ${first} before a command`);
  throw new UsageError(`there is no command ${first}${didYouMean(first, firstWords(commands))}`);
}

/** A sentence with the nearest known word; empty when none is near. */
export function didYouMean(given: string, known: Iterable<string>): string {
  const near = suggest(given, known);
  return near === undefined ? '' : `; did you mean ${near}?`;
}

function firstWords(commands: readonly Command[]): Set<string> {
  return new Set(commands.flatMap(namesOf).map((name) => name.split(' ')[0] ?? ''));
}
