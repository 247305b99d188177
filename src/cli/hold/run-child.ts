// Runs a command as if in place of this process: it gets the terminal and the signals, and its exit code is returned.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';

/** Signals that other processes send to end, reload or query a program. */
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
/** Signals that a terminal sends to the whole process group, so that the command gets them without this process. */
const fromTerminal = ['SIGINT', 'SIGQUIT'] as const;

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/**
 * Resolves with the exit code as a shell would give it: 128 and the number for an end by a signal, 127 when there is no such
 * command, 126 when it cannot be run. `say` gets the reason in the last two cases.
 */
export async function runChild(
  command: string,
  args: readonly string[],
  print: (text: string) => void,
): Promise<number> {
  using listeners = new DisposableStack();
  const ended = Promise.withResolvers<number>();
  function onSignal(name: NodeJS.Signals, react: () => void): void {
    process.on(name, react);
    listeners.defer(() => process.off(name, react));
  }
  // A signal that comes while the command is being started is for the command too, so the listeners are there first.
  const hasTerminal = isatty(0);
  for (const name of passedOn) onSignal(name, () => child.kill(name));
  for (const name of fromTerminal) onSignal(name, () => hasTerminal || child.kill(name));
  const child = spawn(command, args, { stdio: 'inherit' });
  child.once('error', (error: NodeJS.ErrnoException) => {
    print(`${command} cannot be run: ${error.code === 'ENOENT' ? 'there is no such command' : error.message}`);
    ended.resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
  });
  child.once('exit', (code, signal) => ended.resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
  return await ended.promise;
}
