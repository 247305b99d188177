// Looks a program up before it is started, so that a missing one is told from one that fails.
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join, resolve } from 'node:path';

export interface StartFault {
  /** What a shell would exit with: 127 for a program that is not found, 126 for one that cannot be run. */
  readonly exit_code: 126 | 127;
  /** What is wrong, for people. */
  readonly message: string;
}

/** Why a command cannot be started in this directory; undefined when it can. */
export function findStartFault(cmd: string, dir: string, path: string): StartFault | undefined {
  if (statSync(dir, { throwIfNoEntry: false })?.isDirectory() !== true) {
    return { exit_code: 126, message: `there is no directory ${dir}` };
  }
  const places = cmd.includes('/') ? [resolve(dir, cmd)] : path.split(':').map((each) => toPlace(dir, each, cmd));
  const found = places.filter(isFile);
  if (found.length === 0) {
    return { exit_code: 127, message: `there is no program ${cmd}${cmd.includes('/') ? '' : ' in PATH'}` };
  }
  const isStartable = found.some(isExecutable);
  return isStartable ? undefined : { exit_code: 126, message: `${found[0]} is not executable; chmod +x it` };
}

/** The message of `findStartFault`. */
export function whyNotStartable(cmd: string, dir: string, path: string): string | undefined {
  return findStartFault(cmd, dir, path)?.message;
}

function toPlace(dir: string, each: string, cmd: string): string {
  return isAbsolute(each) ? join(each, cmd) : join(dir, each, cmd);
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    return false;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
