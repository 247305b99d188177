// Holds a running machine still for a copy of its files.
import type { Log } from '../../../../core/log.ts';
import { RemoraError } from '../../../../core/remora-error.ts';
import { countPause } from './count-pause.ts';
import { thawMembers } from './freeze-members.ts';
import type { Instance } from './instances.ts';
import { writeProcessNote } from './process-note.ts';

export interface HoldStillOptions {
  /** Has a directory for each machine. */
  readonly dir: string;
  readonly instance: Instance | undefined;
  /** Resolves with whether everything of the instance stands still. */
  readonly freeze: (instance: Instance) => Promise<boolean>;
  readonly log: Pick<Log, 'error'>;
}

/**
 * Resolves when nothing of the machine runs, until the result is disposed of. Its note says so first, so that a platform after a crash
 * lets it go on, and it is counted, so that the agent does not take it for a resume. Throws `internal` when the machine cannot be frozen.
 */
export async function holdStill(id: string, options: HoldStillOptions): Promise<AsyncDisposable> {
  const { dir, instance, log } = options;
  if (instance?.state !== 'running') return { [Symbol.asyncDispose]: async () => undefined };
  writeNote(dir, id, instance, true);
  const release = async () => {
    countPause(dir, id, 'copies', log);
    await thawMembers(instance);
    try {
      writeNote(dir, id, instance, false);
    } catch (err) {
      log.error({ err, machine: id }, 'the note of a machine says that it is held still, and it runs');
    }
  };
  if (await options.freeze(instance)) return { [Symbol.asyncDispose]: release };
  await release();
  throw new RemoraError('internal', 'the machine could not be held still for the copy');
}

function writeNote(dir: string, id: string, { instance_id, leader, cgroup }: Instance, isHeld: boolean): void {
  const { pid, start_ticks } = leader;
  writeProcessNote(dir, id, { instance_id, pid, start_ticks, cgroup: cgroup?.path, isHeld });
}
