// What the log says of a process that somebody runs in a sprite: by which token and which program, never its arguments, its variables or
// anything else of the query.
import { basename } from 'node:path';
import type { Log } from '../../core/log.ts';
import { isCaller, type Principal } from '../tokens/principal.ts';

const NAME_MAX = 100;

export interface RunProcess {
  readonly principal: Principal;
  readonly sprite: string | undefined;
  /** The target of the request. */
  readonly target: string;
  /** Undefined where it is not known, such as for a process over a WebSocket, which this platform does not read. */
  readonly exit_code?: number | undefined;
}

export function auditExec(
  log: Pick<Log, 'info'>,
  operation: string,
  { principal, sprite, target, exit_code }: RunProcess,
) {
  const token = isCaller(principal) ? principal.token.id : 'operator';
  const command = toCommandName(target);
  const known = { ...(command === undefined ? {} : { command }), ...(exit_code === undefined ? {} : { exit_code }) };
  log.info({ audit: 'exec', operation, token, sprite, ...known }, 'a process is run in a sprite');
}

/** The name of the program without its directory; undefined where the query has none. */
export function toCommandName(target: string): string | undefined {
  const start = target.indexOf('?');
  if (start < 0) return undefined;
  const query = new URLSearchParams(target.slice(start + 1));
  const word = query.get('cmd') ?? query.get('path');
  return word === null ? undefined : basename(word).slice(0, NAME_MAX);
}
