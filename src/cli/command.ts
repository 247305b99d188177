// A command of `remora` as data: its name, its help, its flags, and the module that runs it, which is loaded only when it runs.
import type { ParseArgsOptionDescriptor } from 'node:util';

/** A flag as parseArgs takes it, with its help text. `value` is the name of its value in the help. */
export interface Flag extends Pick<ParseArgsOptionDescriptor, 'type' | 'short'> {
  readonly summary: string;
  readonly value?: string;
  /** It may be given several times. */
  readonly multiple?: true;
}

export interface Command {
  /** One to four words. */
  readonly name: string;
  /** Other names of the command. */
  readonly also?: readonly string[];
  /** The heading in `remora --help`: runs something, asks the agent, reaches into a sprite, works on a platform, or is for the shell. */
  readonly group: 'run' | 'ask' | 'inside' | 'platform' | 'shell';
  /** Listed in the help of its first word, and not in the overview. */
  readonly inner?: true;
  /** The same as another command under an older name; left out of the pages. */
  readonly alias?: true;
  readonly summary: string;
  /** What follows the name, for example `METHOD URL`; empty when nothing does. */
  readonly operands: string;
  /** How many operands there may be, least and most. */
  readonly count: readonly [number, number];
  readonly flags: Readonly<Record<string, Flag>>;
  /** Lines that the help ends with. */
  readonly notes?: readonly string[];
  /** Every word after the name goes to `run` unread; only a first `--help` and `--socket` are taken. */
  readonly raw?: true;
  /** Words after the first operand are operands too, also those that begin with a dash. */
  readonly runs?: true;
  load(): Promise<CommandModule>;
}

export interface CommandModule {
  /** Resolves with the exit code. Throws UsageError, UnreachableError, or anything with a message for people. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly operands: readonly string[];
  /** The value of a flag; `undefined` when it was not given or has none. */
  text(flag: string): string | undefined;
  /** Every value of a flag that may be given several times. */
  texts(flag: string): readonly string[];
  /** Whether a flag was given. */
  has(flag: string): boolean;
  readonly out: Output;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/** Where a command writes. Its result goes to `line`, remarks to `note`. */
export interface Output {
  line(text: string): void;
  note(text: string): void;
  /** `listener` runs when nobody reads `line` any more. Without one the command then exits at once. */
  onUnread(listener: () => void): void;
  /** Whether `line` goes to a terminal that shows colours. */
  readonly colours: boolean;
}
