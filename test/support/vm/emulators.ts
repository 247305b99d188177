// The emulators of one platform: other tests have theirs at the same time.
import { readlinkSync } from 'node:fs';
import { readMarkedProcessesNow } from '../../../src/linux/processes/process-table.ts';
import { INSTANCE_MARK } from '../../../src/platform/machines/drivers/qemu/emulator/spawn-emulator.ts';

/** The pids of those that work below a directory. */
export function emulatorsBelow(dir: string): number[] {
  const pids = readMarkedProcessesNow(INSTANCE_MARK).map(({ pid }) => pid);
  return pids.filter((pid) => workingDirectoryOf(pid).startsWith(`${dir}/`));
}

/** Empty for a process that has just ended. */
function workingDirectoryOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return '';
  }
}
