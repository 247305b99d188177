// Copies the files of a checkpoint, to be put in the place of the machine's own.
import { mkdir, rename } from 'node:fs/promises';
import type { CheckpointWork, PreparedRestore } from '../../machine-checkpoints.ts';
import { toStorageFull } from '../../storage-full.ts';
import type { CheckpointPlaces } from './checkpoint-places.ts';
import { readState } from './checkpoint-record.ts';
import { beginRestore } from './pending-restore.ts';
import { keepServices } from './services-copy.ts';
import { openTreeProcess } from './tree-process.ts';
import { toTreeProgress } from './tree-progress.ts';

export interface RestoredMachine {
  readonly places: CheckpointPlaces;
  readonly onStep: (step: string) => void;
  readonly removeLater: (path: string) => void;
}

/** The machine is untouched until `putInPlace`. Throws `storage_full`. */
export async function prepareRestore(
  checkpoint_id: string,
  work: CheckpointWork,
  { places, onStep, removeLater }: RestoredMachine,
): Promise<PreparedRestore> {
  const source = places.of(checkpoint_id);
  const copy = places.unfinished('restore');
  try {
    await using tree = await openTreeProcess(work.signal);
    onStep('copy the files of the checkpoint');
    await mkdir(copy.dir, { mode: 0o700 });
    const job = { type: 'copy', source: source.tree, isLive: false, indexOf: 'target', settledBefore_ms: 0 } as const;
    await tree.run({ ...job, target: copy.tree, index: copy.index }, toTreeProgress(work.onProgress));
    await keepServices(source.services, copy.services);
    onStep('write the copy to the disk');
    await tree.run({ type: 'sync', path: copy.dir });
  } catch (error) {
    removeLater(copy.dir);
    throw toStorageFull(error);
  }
  return {
    async putInPlace() {
      await rename(copy.index, source.index);
      await beginRestore(places, copy, checkpoint_id, onStep);
    },
    async [Symbol.asyncDispose]() {
      // A restore that was begun and has failed is finished by the next start, which needs the copy.
      if ((await readState(places)).pending === undefined) removeLater(copy.dir);
    },
  };
}
