// The library of pseudo-terminals: what of it is used, which its own types do not show completely.
import { createRequire } from 'node:module';
import type { ReadStream } from 'node:tty';

export interface Terminal {
  readonly pid: number;
  resize(cols: number, rows: number): void;
  onExit(listener: (end: { readonly exitCode: number; readonly signal?: number }) => void): void;
  /** The end of the terminal that is held here. Its own writes say when there is room. */
  readonly _socket: ReadStream;
}

export interface TerminalOptions {
  readonly cols: number;
  readonly rows: number;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  readonly encoding: null;
}

interface TerminalLibrary {
  spawn(file: string, args: readonly string[], options: TerminalOptions): Terminal;
}

const require = createRequire(import.meta.url);

/** Throws when there is no build of it for this system. */
export function openTerminal(file: string, args: readonly string[], options: TerminalOptions): Terminal {
  const library = require('@lydell/node-pty') as TerminalLibrary;
  return library.spawn(file, args, options);
}
