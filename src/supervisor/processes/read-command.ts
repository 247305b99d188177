// What is to run, from the query of an exec or from the arguments of a control frame. Pure.

import { parseDuration } from '../../contract/duration.ts';
import { type ExecCommand, execCommand } from '../../contract/processes.ts';
import { refuseField } from '../../core/refuse-field.ts';
import { parseWith } from '../../http/parse-with.ts';

export interface Command {
  /** The program and its arguments. */
  readonly words: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Relative to the home of the user; undefined for that itself. */
  readonly dir: string | undefined;
  /** Whether there is a standard input; it is empty otherwise. */
  readonly hasStdin: boolean;
  /** The size of the terminal; undefined when it runs without one. */
  readonly terminal: { readonly cols: number; readonly rows: number } | undefined;
  readonly isDetachable: boolean;
  /** How long it runs on without a connection. */
  readonly lingers_ms: number;
}

/** `cmd` and `env` may be repeated; of anything else the last one counts. Throws `invalid_request`. */
export function readQueryCommand(target: string): Command {
  const start = target.indexOf('?');
  const pairs = new URLSearchParams(start < 0 ? '' : target.slice(start + 1));
  const { path } = Object.fromEntries(pairs);
  const words = pairs.getAll('cmd');
  const cmd = words.length > 0 || path === undefined ? words : [path];
  return toCommand(parseWith(execCommand, { ...Object.fromEntries(pairs), cmd, env: pairs.getAll('env') }, 'query'));
}

/** Throws `invalid_request`. */
export function readControlCommand(args: unknown): Command {
  return toCommand(parseWith(execCommand, args, 'args'));
}

function toCommand(request: ExecCommand): Command {
  const { cmd, env, dir, tty = false, stdin = false, detachable = false, cols = 80, rows = 24 } = request;
  const [program = '', ...args] = cmd;
  if (program === '') throw refuseField('cmd', 'the name of the program is empty');
  return {
    words: [program, ...args],
    env: Object.fromEntries(env.map(toPair)),
    dir,
    hasStdin: stdin,
    terminal: tty ? { cols, rows } : undefined,
    isDetachable: detachable,
    lingers_ms: toLingering(request.max_run_after_disconnect) ?? (detachable ? Number.POSITIVE_INFINITY : 0),
  };
}

function toPair(text: string): [string, string] {
  const equals = text.indexOf('=');
  return [text.slice(0, equals), text.slice(equals + 1)];
}

function toLingering(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const duration_ms = parseDuration(text);
  if (duration_ms === undefined) throw refuseField('max_run_after_disconnect', 'expected a duration such as 30s');
  return duration_ms;
}
