// Starts a process that outlives this agent, with what it logs in a file.
import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, ftruncateSync, openSync } from 'node:fs';

const LOG_CAP_BYTES = 1024 * 1024;

export interface DetachedProcess {
  readonly words: readonly [string, ...string[]];
  /** That of this agent when absent. */
  readonly cwd?: string;
  readonly env: Readonly<Record<string, string>>;
  /** The path of its log. */
  readonly log: string;
}

/** Does not wait for it, and tells nobody that it fails: who needs it finds nobody at its socket. Throws when its log cannot be opened. */
export function startDetached({ words: [command, ...args], cwd, env, log: path }: DetachedProcess): void {
  const log = openLog(path);
  try {
    const place = cwd === undefined ? {} : { cwd };
    const child = spawn(command, args, { detached: true, stdio: ['ignore', log, log], env, ...place });
    child.on('error', () => undefined);
    child.unref();
  } finally {
    closeSync(log);
  }
}

/** Appends; a log that has grown begins again, so that a process that fails again and again does not fill the disk. */
function openLog(path: string): number {
  const log = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_APPEND | constants.O_NOFOLLOW, 0o600);
  if (fstatSync(log).size > LOG_CAP_BYTES) ftruncateSync(log);
  return log;
}
