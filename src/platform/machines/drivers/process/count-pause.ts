// Counts the pauses of a machine in a file that its agent reads: all that an agent sees of a pause by itself is the same when its machine
// was suspended and when it was held still for a copy.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatPauseCounts, type PauseCounts } from '../../../../core/resume/pause-counts.ts';
import { readPauseFile } from '../../../../linux/kernel/pause-file.ts';

export const PAUSES = 'pauses';

/** Call it before the machine goes on. The directory of the machine exists. Throws the error of the file system. */
export function countPause(dir: string, id: string, kind: keyof PauseCounts): void {
  const path = join(dir, id, PAUSES);
  const early = `${path}~`;
  const counts = readPauseFile(path) ?? { copies: 0, resumes: 0 };
  // Not opened when it is there: it may be a link.
  rmSync(early, { force: true });
  writeFileSync(early, formatPauseCounts({ ...counts, [kind]: counts[kind] + 1 }), { mode: 0o600, flag: 'wx' });
  renameSync(early, path);
}
