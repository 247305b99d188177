// The supervisor outlives its agent, as a machine's does; here it ends with the test.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { signalRunning } from './signal-running.ts';

/** Ends the one that serves at this socket, where one does. */
export function endSupervisor(socket: string): void {
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    const path = `/proc/${pid}/cmdline`;
    if (existsSync(path) && readFileSync(path, 'utf8').split('\0').includes(socket))
      signalRunning(Number(pid), 'SIGTERM');
  }
}
