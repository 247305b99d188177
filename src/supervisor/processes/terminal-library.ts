// The library of pseudo-terminals. Only its native part is used: the rest of it closes a terminal soon after its process has ended, whether
// or not all that was printed is read.
import { createRequire } from 'node:module';

export interface ForkedTerminal {
  readonly pid: number;
  /** The descriptor of the end that is held here. It does not block. */
  readonly fd: number;
  /** The path of the end that the process has. */
  readonly pty: string;
}

export interface TerminalOptions {
  readonly cols: number;
  readonly rows: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

type OnExit = (code: number, signal: number) => void;

interface NativePart {
  fork(
    file: string,
    args: readonly string[],
    env: readonly string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    isUtf8: boolean,
    helper: string,
    onExit: OnExit,
  ): ForkedTerminal;
  resize(fd: number, cols: number, rows: number): void;
}

const require = createRequire(import.meta.url);
/** Stands for the user of this process. */
const SAME_USER = -1;
/** Used on other systems only. */
const NO_HELPER = '';

/** Starts a program in a terminal of its own. Throws when there is no build of the library for this system. */
export function forkTerminal(
  file: string,
  args: readonly string[],
  { cols, rows, cwd, env }: TerminalOptions,
  onExit: OnExit,
): ForkedTerminal {
  const pairs = Object.entries({ ...env, PWD: cwd }).map(([name, value]) => `${name}=${value}`);
  return loadNative().fork(file, args, pairs, cwd, cols, rows, SAME_USER, SAME_USER, false, NO_HELPER, onExit);
}

/** Throws when the terminal is closed. */
export function resizeTerminal(fd: number, cols: number, rows: number): void {
  loadNative().resize(fd, cols, rows);
}

function loadNative(): NativePart {
  const { requireBinary } = require('@lydell/node-pty/requireBinary.js') as { requireBinary(file: string): NativePart };
  return requireBinary('pty.node');
}
