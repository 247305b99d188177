// Runs a command in place of this process, as far as that goes: its terminal, the signals sent here, and its exit code.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { isatty } from 'node:tty';

/** What others send to end, reload or question a program. */
const passedOn = ['SIGTERM', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const;
/** A terminal sends these to the whole group of processes, so that the command has them already. */
const fromTerminal = ['SIGINT', 'SIGQUIT'] as const;

const NOT_FOUND = 127;
const NOT_EXECUTABLE = 126;

/**
 * Resolves with the exit code as a shell would give it: 128 and the number for an end by a signal, 127 when there is no such
 * command, 126 when it cannot be run. `say` is told why in the last two cases.
 */
export async function runChild(command: string, args: readonly string[], say: (text: string) => void): Promise<number> {
  using listeners = new DisposableStack();
  const ended = Promise.withResolvers<number>();
  const child = spawn(command, args, { stdio: 'inherit' });
  child.once('error', (error: NodeJS.ErrnoException) => {
    say(`${command} cannot be run: ${error.code === 'ENOENT' ? 'there is no such command' : error.message}`);
    ended.resolve(error.code === 'ENOENT' ? NOT_FOUND : NOT_EXECUTABLE);
  });
  child.once('exit', (code, signal) => ended.resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));

  function onSignal(name: NodeJS.Signals, react: () => void): void {
    process.on(name, react);
    listeners.defer(() => process.off(name, react));
  }
  const hasTerminal = isatty(0);
  for (const name of passedOn) onSignal(name, () => child.kill(name));
  for (const name of fromTerminal) onSignal(name, () => hasTerminal || child.kill(name));
  return await ended.promise;
}
