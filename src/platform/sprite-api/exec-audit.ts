// What the log says of a process that somebody runs in a sprite: by which token, which program and with which exit code, never its
// arguments, its variables or anything else of the query.
import { basename } from 'node:path';
import type { Log } from '../../core/log.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';

const NAME_MAX = 100;

export interface RunProcess {
  readonly operation: string;
  readonly principal: Principal;
  readonly sprite: string | undefined;
  /** Undefined where it could not be read. */
  readonly command: string | undefined;
}

/** One line when it is asked for, so that one that never ends is known too. */
export function auditExecBegin(log: Pick<Log, 'info'>, process: RunProcess): void {
  log.info({ audit: 'exec_begun', ...toFields(process) }, 'a process is asked for in a sprite');
}

/** One line when it is over. `exit_code` is undefined when the connection was over before it, or the call was refused. */
export function auditExec(log: Pick<Log, 'info'>, process: RunProcess, exit_code: number | undefined): void {
  const known = exit_code === undefined ? {} : { exit_code };
  log.info({ audit: 'exec', ...toFields(process), ...known }, 'a process was run in a sprite');
}

function toFields({ operation, principal, sprite, command }: RunProcess) {
  const token = isCaller(principal) ? principal.token.id : 'operator';
  const known = command === undefined ? {} : { command: command.slice(0, NAME_MAX) };
  return { operation, token, sprite, ...known };
}

/** What of the target of a request says which program is run, and whether in a terminal. The supervisor reads it in the same way. */
export function readExecTarget(target: string): { readonly command: string | undefined; readonly isTerminal: boolean } {
  const start = target.indexOf('?');
  const query = new URLSearchParams(start < 0 ? '' : target.slice(start + 1));
  const { path, tty } = Object.fromEntries(query);
  const word = query.get('cmd') ?? path;
  return { command: word === undefined ? undefined : basename(word), isTerminal: tty === 'true' || tty === '1' };
}
