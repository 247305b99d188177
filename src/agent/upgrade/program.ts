// The program that an agent is started as again: what lies now where this process was started from.
import { accessSync, constants } from 'node:fs';
import { isAbsolute } from 'node:path';

export interface Program {
  /** Path of Node. */
  readonly node: string;
  /** What the process calls itself. */
  readonly name: string;
  /** Flags of Node. */
  readonly flags: readonly string[];
  readonly script: string;
  readonly words: readonly string[];
}

/** Throws when the program was moved, or replaced by a file that cannot run. */
export function findProgram(): Program {
  const [, script = '', ...words] = process.argv;
  const node = findNode();
  accessSync(node, constants.X_OK);
  accessSync(script, constants.R_OK);
  return { node, name: process.argv0, flags: process.execArgv, script, words };
}

/** The path of the start may be a link, which leads to a newer Node after an upgrade. */
function findNode(): string {
  const { argv0, execPath } = process;
  if (!isAbsolute(argv0)) return execPath;
  try {
    accessSync(argv0, constants.X_OK);
    return argv0;
  } catch {
    return execPath;
  }
}
