// What one command of `remora` is, as data: its name, what it says in the help, its flags, and the module that runs it, which
// is loaded only then.
import type { ParseArgsOptionDescriptor } from 'node:util';

/** A flag as parseArgs takes it, and what the help says of it. `value` names the value of a flag that has one. */
export interface Flag extends Pick<ParseArgsOptionDescriptor, 'type' | 'short'> {
  readonly summary: string;
  readonly value?: string;
}

export interface Command {
  readonly name: string;
  /** Heading under which `remora --help` lists it. */
  readonly group: 'run' | 'ask';
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
  load(): Promise<CommandModule>;
}

export interface CommandModule {
  /** Resolves with the exit code. Throws UsageError, AgentUnreachableError, or anything with a message for people. */
  run(invocation: Invocation): Promise<number>;
}

export interface Invocation {
  readonly operands: readonly string[];
  /** The value of a flag; `undefined` when it was not given or has none. */
  text(flag: string): string | undefined;
  /** Whether a flag was given. */
  has(flag: string): boolean;
  readonly out: Output;
  readonly env: NodeJS.ProcessEnv;
  readonly version: string;
}

/** Where a command writes. Lines for people or programs go to `line`, what is said about them to `note`. */
export interface Output {
  line(text: string): void;
  note(text: string): void;
  /** Whether `line` goes to a terminal that shows colours. */
  readonly colours: boolean;
}
