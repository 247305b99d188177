// The end of a process as its caller sees it: a frame with the exit code, then the close.
import { type ExecExit, execFrame, TERMINAL_FAILED } from '../../contract/processes.ts';
import type { Connection } from './connection.ts';

const NORMAL = 1000;

/** The last frame of a process. */
export function sendExit(connection: Connection, isTerminal: boolean, exit_code: number): void {
  if (isTerminal) connection.send(JSON.stringify({ type: 'exit', exit_code } satisfies ExecExit));
  else connection.send(Buffer.from([execFrame.exitCode, exit_code]));
}

export function finishConnection(connection: Connection, isTerminal: boolean, exit_code: number): void {
  sendExit(connection, isTerminal, exit_code);
  connection.close(isTerminal && exit_code !== 0 ? TERMINAL_FAILED : NORMAL, '');
}
