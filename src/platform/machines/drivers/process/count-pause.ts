// Counts the pauses of a machine in a file that its agent reads: all that an agent sees of a pause by itself is the same when its machine
// was suspended and when it was held still for a copy.
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../../../core/log.ts';
import { formatPauseCounts, type PauseCounts } from '../../../../core/resume/pause-counts.ts';
import { readPauseFile } from '../../../../linux/kernel/pause-file.ts';

export const PAUSES = 'pauses';

/**
 * Call it right before the machine goes on: an agent that looked earlier would take the count for that of an earlier pause. What cannot be
 * written is logged and keeps no machine asleep: its agent takes the pause for a resume then.
 */
export function countPause(dir: string, id: string, kind: keyof PauseCounts, log: Pick<Log, 'error'>): void {
  const path = join(dir, id, PAUSES);
  const early = `${path}~`;
  const counts = readPauseFile(path) ?? { copies: 0, resumes: 0 };
  try {
    // Not opened when it is there: it may be a link.
    rmSync(early, { force: true });
    writeFileSync(early, formatPauseCounts({ ...counts, [kind]: counts[kind] + 1 }), { mode: 0o600, flag: 'wx' });
    renameSync(early, path);
  } catch (err) {
    log.error({ err, machine: id }, 'a pause of a machine is not counted');
  }
}
