// The user, the directory and the variables with which a command runs.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import type { UnixUser } from '../../linux/users.ts';
import type { Restraint } from '../policy/to-restraint.ts';
import { findStartFault, type StartFault } from '../services/find-program.ts';
import { SERVICE_VARIABLE } from '../services/service-mark.ts';
import type { SupervisorOptions } from '../supervisor.ts';
import type { Command } from './read-command.ts';

export interface ProgramSetting {
  readonly dir: string;
  readonly env: Readonly<Record<string, string>>;
  /** Undefined when the process stays with the user of the supervisor. */
  readonly user: UnixUser | undefined;
  /** What holds for it. */
  readonly restraint: Restraint;
  /** The value of the variable that everything it starts carries. */
  readonly mark: string;
  readonly fault: StartFault | undefined;
}

const ROOT_PATH = '/usr/sbin:/usr/bin:/sbin:/bin';

/** Where a command runs. */
export function toProgramDir({ dir }: Pick<Command, 'dir'>, { home }: Pick<UnixUser, 'home'>): string {
  return resolve(existsSync(home) ? home : '/', dir ?? '');
}

/** @param secrets of the app, which the variables of the command override. */
export function toProgramSetting(
  { words: [program], env: own, dir: asked, terminal }: Command,
  { user, baseEnv }: Pick<SupervisorOptions, 'user' | 'baseEnv'>,
  secrets: Readonly<Record<string, string>>,
  restraint: Restraint,
  mark: string,
): ProgramSetting {
  const term: Readonly<Record<string, string>> = terminal === undefined ? {} : { TERM: 'xterm-256color' };
  const env: Readonly<Record<string, string>> = { ...baseEnv, ...term, ...secrets, ...own, [SERVICE_VARIABLE]: mark };
  const dir = toProgramDir({ dir: asked }, user);
  const other = process.geteuid?.() === user.uid ? undefined : user;
  const setpriv = other === undefined ? undefined : findStartFault('setpriv', '/', ROOT_PATH);
  const fault =
    setpriv === undefined
      ? findStartFault(program, dir, env.PATH ?? '')
      : { ...setpriv, message: `${setpriv.message}, which runs programs as ${user.name}; install util-linux` };
  return { dir, env, user: other, restraint, mark, fault };
}
