// Replaces the program of this process by a fresh start of itself: same pid, same sockets, no other memory. The random state of
// the TLS library, which a clone may share, is gone with the former image.
import { accessSync, constants } from 'node:fs';
import type { Descriptors } from './descriptors.ts';
import { RESTART_VARIABLE } from './read-restart-state.ts';
import type { RestartState } from './restart-state.ts';

/** Throws when this program cannot be started again, because it was moved or replaced by a file that cannot run. */
export function checkProgram(): void {
  accessSync(process.execPath, constants.X_OK);
  accessSync(process.argv[1] ?? '', constants.R_OK);
}

/** Call it when no piece of the daemon runs any more. Does not return; throws when the system refuses, and then only an exit is left. */
export function reExec(descriptors: Descriptors, state: RestartState, env: NodeJS.ProcessEnv): never {
  const { execve } = process;
  if (execve === undefined) throw new Error('this Node has no process.execve');
  const sockets = state.sockets.map((socket, index) => ({ ...socket, fd: descriptors.placeOf(index) }));
  const descriptor = descriptors.place(
    state.sockets.map(({ fd }) => fd),
    JSON.stringify({ ...state, sockets }),
  );
  const args = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  return execve(process.execPath, args, { ...env, [RESTART_VARIABLE]: `${process.pid}:${descriptor}` });
}
