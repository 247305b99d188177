// The file in which the host of this machine counts its pauses. Programs of the machine may put anything in its place: reading it never waits.
import { closeSync, constants, openSync, readSync } from 'node:fs';
import { type PauseCounts, parsePauseCounts } from '../../core/resume/pause-counts.ts';

const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** More than two counts take. */
const CAP_BYTES = 64;

/** Opened each time: each change is a new file under the same name. Undefined when it cannot be read or has anything else in it. */
export function readPauseFile(path: string): PauseCounts | undefined {
  try {
    const file = openSync(path, READ);
    try {
      const bytes = Buffer.alloc(CAP_BYTES);
      return parsePauseCounts(bytes.toString('latin1', 0, readSync(file, bytes, 0, CAP_BYTES, 0)));
    } finally {
      closeSync(file);
    }
  } catch {
    return undefined;
  }
}
