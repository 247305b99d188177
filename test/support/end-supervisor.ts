// The supervisor outlives its agent, as a machine's does; here it ends with the test.
import { readdirSync } from 'node:fs';
import { signalProcess } from '../../src/linux/processes/signal-process.ts';
import { readOf } from './processes-of.ts';

/** Ends the one that serves at this socket, where one does. */
export function endSupervisor(socket: string): void {
  const pids = readdirSync('/proc').map(Number).filter(Number.isInteger);
  for (const pid of pids) if (readOf(pid, 'cmdline').split('\0').includes(socket)) signalProcess(pid, 'SIGTERM');
}
