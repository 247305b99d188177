// The directory of one machine, with its writable files, its state, its token, its log and its socket. It is made here or was made by this
// user: in one that another user planted, that user could replace each of them.
import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from '../../../../core/error-code.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import { makeDirectory } from '../../../../linux/make-directory.ts';

/** The writable files of the machine: no stop, restart or cold start resets them. */
export const HOME = 'home';

/** Makes what is missing of it below `dir`. Returns its path. Throws `internal` for a link and for a directory of another user. */
export function openMachineDirectory(dir: string, id: string): string {
  const path = join(dir, id);
  makeDirectory(dir, 0o700);
  makeOwn(path);
  makeOwn(join(path, 'state'));
  makeOwn(join(path, HOME));
  return path;
}

function makeOwn(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    const stat = lstatSync(path);
    if (stat.isDirectory() && stat.uid === process.geteuid?.()) return;
    const problem = stat.isDirectory()
      ? `belongs to user ${stat.uid}`
      : 'is no directory, and links are not followed here';
    throw new RemoraError('internal', `the machine could not be started: ${path} ${problem}; move it away`);
  }
}
