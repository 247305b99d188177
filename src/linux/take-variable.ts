// Takes a secret out of the environment of this process, and out of the kernel's copy, which `/proc/PID/environ` goes on
// showing to every process of the same user after a variable is deleted.
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

const NUL = 0;
/**
 * The number of the field of `/proc/self/stat`, counted after the name of the program, that says where the environment begins
 * in memory.
 */
const ENV_START = 47;

export interface TakenVariable {
  /** Undefined when it was not set. */
  readonly value: string | undefined;
  /** False while the kernel's copy still shows it. */
  readonly isErased: boolean;
}

/** Deletes `name` from `env`, and overwrites its value in the kernel's copy where `env` is that of this process. Never throws. */
export function takeVariable(env: NodeJS.ProcessEnv, name: string): TakenVariable {
  const value = env[name];
  delete env[name];
  return { value, isErased: env !== process.env || value === undefined || eraseCopy(name) };
}

function eraseCopy(name: string): boolean {
  try {
    const places = placesOf(name);
    if (places.length > 0) overwrite(places);
    return placesOf(name).every(({ isErased }) => isErased);
  } catch {
    return false;
  }
}

interface Place {
  /** The distance from the begin of the environment to the begin of the value. */
  readonly offset: number;
  readonly length: number;
  readonly isErased: boolean;
}

function placesOf(name: string): Place[] {
  const text = readFileSync('/proc/self/environ');
  const places: Place[] = [];
  for (let at = 0; at < text.length; ) {
    const found = text.indexOf(NUL, at);
    const end = found < 0 ? text.length : found;
    const offset = at + name.length + 1;
    if (text.toString('latin1', at, offset) === `${name}=`) {
      const isErased = text.subarray(offset, end).every((byte) => byte === ERASED);
      places.push({ offset, length: end - offset, isErased });
    }
    at = end + 1;
  }
  return places;
}

const ERASED = '*'.charCodeAt(0);

function overwrite(places: readonly Place[]): void {
  const stat = readFileSync('/proc/self/stat', 'latin1');
  const start = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[ENV_START]);
  const memory = openSync('/proc/self/mem', 'r+');
  try {
    for (const { offset, length } of places) writeSync(memory, Buffer.alloc(length, ERASED), 0, length, start + offset);
  } finally {
    closeSync(memory);
  }
}
