// The checkpoints of one machine of the process driver that does not run, in a directory of a test.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../../src/core/log.ts';
import { createProcessCheckpoints } from '../../src/platform/machines/drivers/process/checkpoints/process-checkpoints.ts';
import { HOME, openMachineDirectory } from '../../src/platform/machines/drivers/process/machine-directory.ts';

export const MACHINE = 'm1';

/** What a test asks of them, without what all calls have in common. */
export function openMachineCheckpoints(dir: string, log: Pick<Log, 'debug' | 'error'>) {
  const machine = join(dir, MACHINE);
  openMachineDirectory(dir, MACHINE);
  mkdirSync(join(machine, 'state', 'supervisor'), { recursive: true });
  const checkpoints = createProcessCheckpoints({
    dir,
    openDirectory: (id) => openMachineDirectory(dir, id),
    home: HOME,
    isRunning: () => false,
    holdStill: async () => ({ [Symbol.asyncDispose]: async () => undefined }),
    log,
  });
  const work = { signal: new AbortController().signal, onProgress: () => undefined };
  return {
    machine,
    home: join(machine, HOME),
    services: join(machine, 'state', 'supervisor', 'services.json'),
    /** The files of a checkpoint, where programs of the machine read them. */
    recent: (id: string) => join(machine, 'recent-checkpoints', id),
    recover: () => checkpoints.recover(),
    list: () => checkpoints.list(MACHINE),
    current: () => checkpoints.current(MACHINE),
    make: (comment?: string) =>
      checkpoints.make(MACHINE, { ...work, comment, is_auto: false, takeTurn: (step) => step() }),
    async restore(id: string) {
      await using prepared = await checkpoints.prepareRestore(MACHINE, id, work);
      await prepared.putInPlace();
    },
    remove: (id: string) => checkpoints.remove(MACHINE, id),
  };
}
