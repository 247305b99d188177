// Starts the agent of a machine again that has ended for that: the machine runs on as the same instance, with its token and its variables,
// and with everything else that runs in it.
import { join } from 'node:path';
import type { Log } from '../../../../core/log.ts';
import { signalLeader } from '../machine-process.ts';
import { enterCgroup } from './enter-cgroup.ts';
import type { StartAgain } from './instances.ts';
import { writeProcessNote } from './process-note.ts';
import { type LeaderOptions, spawnLeader } from './spawn-machine.ts';
import { asksForRestart, createRestartLimit } from './start-again.ts';

export interface StartLeaderAgainOptions {
  readonly dir: string;
  readonly command: LeaderOptions['command'] | undefined;
  readonly log: Pick<Log, 'error'>;
}

/** A failure, and one restart too many, is the end of the instance. */
export function createStartAgain({ dir, command, log }: StartLeaderAgainOptions, isClosed: () => boolean): StartAgain {
  const mayStart = createRestartLimit();
  return async (id, instance, { exit, env }) => {
    const isDue = asksForRestart(exit, env.REMORA_STATE_DIR) && instance.state === 'running';
    if (!isDue || instance.ending !== undefined || command === undefined || isClosed() || !mayStart(id))
      return undefined;
    const { instance_id, cgroup } = instance;
    const spawned = await spawnLeader({ dir: join(dir, id), command, env }, ({ pid, start_ticks }) => {
      enterCgroup(pid, cgroup);
      writeProcessNote(dir, id, { instance_id, pid, start_ticks, cgroup: cgroup?.path });
    }).catch((err: unknown) => log.error({ err, machine: id }, 'the agent of a machine could not be started again'));
    if (spawned === undefined) return undefined;
    instance.leader = { pid: spawned.pid, start_ticks: spawned.start_ticks };
    // A stop that came meanwhile has signalled nobody.
    if (instance.ending !== undefined) signalLeader(spawned, instance.ending);
    return spawned;
  };
}
