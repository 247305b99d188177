// Replacing the program of this process by a fresh start of itself: same pid, same sockets, nothing else of its memory. What the
// TLS library of the former image would have drawn next is gone with it (resume.md, section 2).
import { accessSync, constants } from 'node:fs';
import type { Descriptors } from './descriptors.ts';
import type { Parcel } from './parcel.ts';
import { HANDOVER_VARIABLE } from './take-parcel.ts';

/** Throws when this program could not be started again: it was moved or replaced by something that cannot run. */
export function checkProgram(): void {
  accessSync(process.execPath, constants.X_OK);
  accessSync(process.argv[1] ?? '', constants.R_OK);
}

/** Nothing of the daemon may run any more. Does not return; throws when the system refuses, and then only an exit is left. */
export function reExec(descriptors: Descriptors, parcel: Parcel, env: NodeJS.ProcessEnv): never {
  const { execve } = process;
  if (execve === undefined) throw new Error('this Node has no process.execve');
  const sockets = parcel.sockets.map((socket, index) => ({ ...socket, fd: descriptors.placeOf(index) }));
  const descriptor = descriptors.place(
    parcel.sockets.map(({ fd }) => fd),
    JSON.stringify({ ...parcel, sockets }),
  );
  const args = [process.argv0, ...process.execArgv, ...process.argv.slice(1)];
  return execve(process.execPath, args, { ...env, [HANDOVER_VARIABLE]: `${process.pid}:${descriptor}` });
}
