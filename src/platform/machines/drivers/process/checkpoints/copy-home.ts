// Copies the writable files of a machine into a new checkpoint.
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { RemoraError } from '../../../../../core/remora-error.ts';
import type { NewCheckpoint } from '../../machine-checkpoints.ts';
import type { CheckpointFiles, CheckpointPlaces } from './checkpoint-places.ts';
import { readState } from './checkpoint-record.ts';
import { keepServices } from './services-copy.ts';
import type { TreeCounts } from './tree/tree-message.ts';
import type { TreeProcess } from './tree-process.ts';
import { toTreeProgress } from './tree-progress.ts';

export interface CopiedMachine {
  readonly places: CheckpointPlaces;
  readonly isRunning: () => boolean;
  /** Resolves when nothing of the machine runs, until the result is disposed of. */
  readonly holdStill: () => Promise<AsyncDisposable>;
  /** How long a machine may stand still for a copy. */
  readonly stillLimit_ms: number;
  readonly onStep: (step: string) => void;
  readonly removeLater: (path: string) => void;
}

/** Longer than a tick of the kernel, by which its clocks differ. */
const TICK_MS = 100;

/**
 * Copies first while programs run, so that they stand still only for what has changed meanwhile. Throws `conflict` when the machine
 * would stand still for too long.
 */
export async function copyHome(
  target: CheckpointFiles,
  tree: TreeProcess,
  checkpoint: NewCheckpoint,
  machine: CopiedMachine,
): Promise<TreeCounts> {
  const { places, stillLimit_ms } = machine;
  const { current } = await readState(places);
  const onProgress = toTreeProgress(checkpoint.onProgress);
  const sync = async () => await tree.run({ type: 'sync', path: places.machine });
  // Writing out a large file that was changed just now takes longer than a tick: the copy that is made while programs run is then good for it.
  await sync();
  const settledBefore_ms = Date.now() - TICK_MS;
  // A program that has mapped a file changes its `ctime` only when it writes to a page for the first time since that was written out.
  await sync();
  const job = { type: 'copy', source: places.home, indexOf: 'source', settledBefore_ms } as const;
  const early = places.unfinished('early');
  try {
    if (machine.isRunning()) {
      await mkdir(early.dir, { mode: 0o700 });
      const base = current === undefined ? undefined : places.of(current);
      await tree.run({ ...job, target: early.tree, index: early.index, base, isLive: true }, onProgress);
    }
    return await checkpoint.takeTurn(async () => {
      const wasCopied = existsSync(early.index);
      const base = wasCopied ? early : current === undefined ? undefined : places.of(current);
      const limit = machine.isRunning() ? AbortSignal.timeout(stillLimit_ms) : undefined;
      await using _ = await machine.holdStill();
      machine.onStep('copy what stands still');
      await keepServices(places.services, target.services);
      const last = { ...job, target: target.tree, index: target.index, base, isLive: false };
      return await tree.run(last, onProgress, limit).catch((error: unknown) => {
        throw limit?.aborted === true ? toTooBusy(stillLimit_ms) : error;
      });
    });
  } finally {
    machine.removeLater(early.dir);
  }
}

function toTooBusy(limit_ms: number): RemoraError {
  const why = `its files change faster than they are copied: the machine stood still for ${limit_ms / 1_000} s`;
  return new RemoraError('conflict', `${why}; suspend or stop it, then try again`);
}
