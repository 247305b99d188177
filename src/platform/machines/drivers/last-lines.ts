// The last lines of a log, for an error message.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

/** The file in the directory of a machine with what it wrote to its console, or its process to standard output and error. */
export const MACHINE_LOG = 'agent.log';

const LINES = 20;
const LINE_CHARACTERS = 300;
const TAIL_BYTES = 16 * 1024;
/** Control characters, which could move the cursor of a terminal: the log is written by programs in the machine. */
const CONTROL = /\p{Cc}/gu;

/** Returns at most 20 lines of at most 300 characters, the newest last; empty when the file cannot be read. */
export function readLastLines(path: string): readonly string[] {
  const lines = readTail(path).split('\n').map(clean);
  return lines.filter((line) => line !== '').slice(-LINES);
}

function clean(line: string): string {
  const text = line.replaceAll(CONTROL, ' ').trim();
  return text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS)}…` : text;
}

function readTail(path: string): string {
  try {
    const descriptor = openSync(path, 'r');
    try {
      const { size } = fstatSync(descriptor);
      const bytes = Buffer.alloc(Math.min(size, TAIL_BYTES));
      return bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, bytes.length, size - bytes.length));
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return '';
  }
}
