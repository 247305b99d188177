// Finds the processes of a benchmark by its directory.
import { readdirSync, readFileSync } from 'node:fs';

/** Words are separated by NUL. */
export function commandLine(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** Those whose command line or environment has the text, this process excepted. */
export function findPids(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && Number(entry) !== process.pid)
    .map(Number)
    .filter((pid) => commandLine(pid).includes(text) || readEnvironment(pid).includes(text));
}

function readEnvironment(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return '';
  }
}
