// Replaces the program of this process by a fresh start of what is on the disk: same pid, same sockets, no other memory. The random state
// of the TLS library, which a clone may share, is gone with the former image.
import type { Descriptors } from './descriptors.ts';
import type { Program } from './program.ts';
import { RESTART_VARIABLE } from './read-restart-state.ts';
import type { RestartState } from './restart-state.ts';

export interface ReExecOptions {
  readonly descriptors: Descriptors;
  readonly program: Program;
  readonly state: RestartState;
  readonly env: NodeJS.ProcessEnv;
}

/** Call it when no piece of the daemon runs any more. Does not return; throws when the system refuses, and then only an exit is left. */
export function reExec({ descriptors, program, state, env }: ReExecOptions): never {
  const { execve } = process;
  if (execve === undefined) throw new Error('this Node has no process.execve');
  const { upgrade } = state;
  const handed = state.sockets.map(({ fd }) => fd);
  const sockets = state.sockets.map((socket, index) => ({ ...socket, fd: descriptors.placeOf(index) }));
  const placed = upgrade === undefined ? {} : { upgrade: { ...upgrade, caller: descriptors.placeOf(sockets.length) } };
  const descriptor = descriptors.place(
    upgrade === undefined ? handed : [...handed, upgrade.caller],
    JSON.stringify({ ...state, sockets, ...placed }),
  );
  const args = [program.name, ...program.flags, program.script, ...program.words];
  return execve(program.node, args, { ...env, [RESTART_VARIABLE]: `${process.pid}:${descriptor}` });
}
