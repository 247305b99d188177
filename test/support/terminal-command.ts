// The `remora` command in a pseudo-terminal, as a person has it.
import { spawn } from '@lydell/node-pty';
import { onTestFinished } from 'vitest';
import { remoraPath } from './run-remora.ts';

export interface TerminalCommand {
  readonly pid: number;
  /** All that the terminal has shown. */
  screen(): string;
  type(text: string): void;
  resize(cols: number, rows: number): void;
  readonly exited: Promise<number>;
}

/** Runs `words` of the command, or with `program` that program, in which the command may be run. */
export function openTerminalCommand(
  words: readonly string[],
  env: Readonly<Record<string, string>>,
  [program, ...before]: readonly [string, ...string[]] = [process.execPath, remoraPath],
): TerminalCommand {
  const { PATH = '' } = process.env;
  const options = { cols: 100, rows: 30, env: { PATH, TERM: 'xterm', HOME: '/nonexistent', ...env } };
  const terminal = spawn(program, [...before, ...words], options);
  let text = '';
  terminal.onData((data) => {
    text += data;
  });
  const exited = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)));
  let isOver = false;
  exited.then(() => {
    isOver = true;
  });
  onTestFinished(async () => {
    if (!isOver) terminal.kill('SIGKILL');
    await exited;
  });
  return {
    pid: terminal.pid,
    screen: () => text,
    type: (keys) => terminal.write(keys),
    resize: (cols, rows) => terminal.resize(cols, rows),
    exited,
  };
}
