// The checkpoints of the driver `process`: each is a tree beside the files of the machine, with its record, made in a directory that gets
// its name once it is whole.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../../../core/log.ts';
import { RemoraError } from '../../../../../core/remora-error.ts';
import { syncDirectory } from '../../durable-json.ts';
import type { DriverCheckpoint, MachineCheckpoints } from '../../machine-checkpoints.ts';
import { toStorageFull } from '../../storage-full.ts';
import { CheckpointPlaces, UNFINISHED } from './checkpoint-places.ts';
import { listIds, readCheckpoint, readState } from './checkpoint-record.ts';
import { copyHome } from './copy-home.ts';
import { nameCheckpoint } from './name-checkpoint.ts';
import { finishPending } from './pending-restore.ts';
import { prepareRestore } from './prepare-restore.ts';
import { renewRecentLinks } from './recent-links.ts';
import { removeTree } from './remove-tree.ts';
import { openTreeProcess } from './tree-process.ts';

export interface ProcessCheckpointsOptions {
  /** Has a directory for each machine. */
  readonly dir: string;
  /** Makes the directory of a machine when it is missing. */
  readonly openDirectory: (id: string) => void;
  /** The name of the writable files in it. */
  readonly home: string;
  readonly isRunning: (id: string) => boolean;
  /** Resolves when nothing of the machine runs, until the result is disposed of. */
  readonly holdStill: (id: string) => Promise<AsyncDisposable>;
  readonly log: Pick<Log, 'debug' | 'error'>;
  readonly stillLimit_ms?: number;
}

export interface ProcessCheckpoints extends MachineCheckpoints {
  /** Finishes a restore that was begun. Call it before a machine is started. */
  finish(id: string): Promise<void>;
  /** Finishes and removes what an earlier platform has left. Call it before anything else. */
  recover(): Promise<void>;
}

/** How long a machine may stand still for a copy. */
const STILL_LIMIT_MS = 10_000;

export function createProcessCheckpoints(options: ProcessCheckpointsOptions): ProcessCheckpoints {
  const { log, stillLimit_ms = STILL_LIMIT_MS } = options;

  const placesOf = (id: string) => new CheckpointPlaces(join(options.dir, id), options.home);
  const stepOf = (id: string) => (step: string) => log.debug({ machine: id, step }, 'a step of a checkpoint');

  /** Nobody waits for it: what stays is removed by the next platform. */
  function removeLater(path: string): void {
    if (!existsSync(path)) return;
    removeTree(path).catch((err: unknown) => log.error({ err }, 'files of a checkpoint stay behind'));
  }

  async function recoverOne(id: string): Promise<void> {
    const places = placesOf(id);
    if (!existsSync(places.all)) return;
    await finishPending(places, stepOf(id));
    await renewRecentLinks(places);
    for (const each of await readdir(places.all)) {
      if (each.startsWith(UNFINISHED)) removeLater(join(places.all, each));
    }
  }

  async function find(places: CheckpointPlaces, checkpoint_id: string): Promise<DriverCheckpoint> {
    const checkpoint = await readCheckpoint(places.of(checkpoint_id));
    if (checkpoint === undefined) throw new RemoraError('not_found', `there is no checkpoint ${checkpoint_id}`);
    return checkpoint;
  }

  return {
    finish: (id) => finishPending(placesOf(id), stepOf(id)),
    async recover() {
      for (const id of existsSync(options.dir) ? await readdir(options.dir) : []) {
        await recoverOne(id).catch((err: unknown) => {
          log.error({ err, machine: id }, 'what was left of a checkpoint cannot be finished');
        });
      }
    },
    async list(id) {
      const places = placesOf(id);
      const found: DriverCheckpoint[] = [];
      for (const each of await listIds(places)) {
        const checkpoint = await readCheckpoint(places.of(each));
        if (checkpoint !== undefined) found.push(checkpoint);
      }
      return found;
    },
    current: async (id) => (await readState(placesOf(id))).current,
    async make(id, checkpoint) {
      const places = placesOf(id);
      await finishPending(places, stepOf(id));
      options.openDirectory(id);
      await mkdir(places.all, { recursive: true, mode: 0o700 });
      const made = places.unfinished('new');
      try {
        await using tree = await openTreeProcess(checkpoint.signal);
        stepOf(id)('copy the files');
        await mkdir(made.dir, { mode: 0o700 });
        const { left_out } = await copyHome(made, tree, checkpoint, {
          places,
          isRunning: () => options.isRunning(id),
          holdStill: () => options.holdStill(id),
          stillLimit_ms,
          onStep: stepOf(id),
          removeLater,
        });
        if (left_out > 0) checkpoint.onProgress(`${left_out} sockets and devices are left out`);
        stepOf(id)('write the files to the disk');
        await tree.run({ type: 'sync', path: made.dir });
        return await checkpoint.takeTurn(() => nameCheckpoint(made, checkpoint, places, stepOf(id)));
      } catch (error) {
        throw toStorageFull(error);
      } finally {
        removeLater(made.dir);
      }
    },
    async prepareRestore(id, checkpoint_id, work) {
      const places = placesOf(id);
      const checkpoint = await find(places, checkpoint_id);
      if (!checkpoint.is_healthy) {
        throw new RemoraError('conflict', `the checkpoint ${checkpoint_id} cannot be read; restore another one`);
      }
      return await prepareRestore(checkpoint_id, work, { places, onStep: stepOf(id), removeLater });
    },
    async remove(id, checkpoint_id) {
      const places = placesOf(id);
      await find(places, checkpoint_id);
      const gone = places.unfinished('gone');
      stepOf(id)('take the name of the checkpoint');
      await rename(places.of(checkpoint_id).dir, gone.dir);
      await syncDirectory(places.all);
      stepOf(id)('remove the files of the checkpoint');
      await renewRecentLinks(places);
      removeLater(gone.dir);
    },
  };
}
