// A signal to a process that must be there: to the system the number 0 means the whole group of the caller, which is the run of the tests.

/** Throws when there is no number of a process, and what `process.kill` throws. */
export function signalRunning(pid: number | undefined, signal: NodeJS.Signals | number): void {
  if (pid === undefined || !(pid > 1)) throw new Error(`${pid} is no process that could get ${signal}`);
  process.kill(pid, signal);
}
