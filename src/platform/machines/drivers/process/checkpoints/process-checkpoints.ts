// The checkpoints of the driver `process`: each is a tree beside the files of the machine, with its record, made in a directory that gets
// its name once it is whole.
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../../../../core/log.ts';
import { RemoraError } from '../../../../../core/remora-error.ts';
import type {
  CheckpointWork,
  DriverCheckpoint,
  MachineCheckpoints,
  NewCheckpoint,
  PreparedRestore,
} from '../../machine-checkpoints.ts';
import { type CheckpointFiles, CheckpointPlaces, UNFINISHED } from './checkpoint-places.ts';
import { listIds, readCheckpoint, readState, writeManifest, writeState } from './checkpoint-record.ts';
import { syncDirectory } from './durable-json.ts';
import { beginRestore, finishPending } from './pending-restore.ts';
import { renewRecentLinks } from './recent-links.ts';
import { removeTree } from './remove-tree.ts';
import { keepServices } from './services-copy.ts';
import type { TreeCounts } from './tree/tree-message.ts';
import { openTreeProcess, type TreeProcess } from './tree-process.ts';

export interface ProcessCheckpointsOptions {
  /** Has a directory for each machine. */
  readonly dir: string;
  /** Makes the directory of a machine when it is missing. */
  readonly openDirectory: (id: string) => void;
  /** The name of the writable files in it. */
  readonly home: string;
  readonly isRunning: (id: string) => boolean;
  /** Resolves when nothing of the machine runs, until the result is disposed of. */
  readonly holdStill: (id: string) => Promise<Disposable>;
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
/** Of clocks that differ by a tick of the kernel. */
const TICK_MS = 100;

export function createProcessCheckpoints(options: ProcessCheckpointsOptions): ProcessCheckpoints {
  const { log, stillLimit_ms = STILL_LIMIT_MS } = options;

  const placesOf = (id: string) => new CheckpointPlaces(join(options.dir, id), options.home);
  const stepOf = (id: string) => (step: string) => log.debug({ machine: id, step }, 'a step of a checkpoint');

  /** Nobody waits for it: what stays is removed by the next platform. */
  function removeLater(path: string): void {
    if (!existsSync(path)) return;
    removeTree(path).catch((err: unknown) => log.error({ err }, 'files of a checkpoint stay behind'));
  }

  /** First while programs run, so that they stand still only for what has changed meanwhile. */
  async function copyHome(
    id: string,
    places: CheckpointPlaces,
    target: CheckpointFiles,
    tree: TreeProcess,
    checkpoint: NewCheckpoint,
  ): Promise<TreeCounts> {
    const { current } = await readState(places);
    const settledBefore_ms = Date.now() - TICK_MS;
    const onProgress = toProgress(checkpoint.onProgress);
    const job = { type: 'copy', source: places.home, indexOf: 'source', settledBefore_ms } as const;
    await tree.run({ type: 'sync', path: places.machine });
    const early = places.unfinished('early');
    try {
      if (options.isRunning(id)) {
        await mkdir(early.dir, { mode: 0o700 });
        const base = current === undefined ? undefined : places.of(current);
        await tree.run({ ...job, target: early.tree, index: early.index, base, isLive: true }, onProgress);
      }
      return await checkpoint.takeTurn(async () => {
        const wasCopied = existsSync(early.index);
        const base = wasCopied ? early : current === undefined ? undefined : places.of(current);
        const limit = options.isRunning(id) ? AbortSignal.timeout(stillLimit_ms) : undefined;
        using _ = await options.holdStill(id);
        stepOf(id)('copy what stands still');
        await keepServices(places.services, target.services);
        const last = { ...job, target: target.tree, index: target.index, base, isLive: false };
        return await tree.run(last, onProgress, limit).catch((error: unknown) => {
          throw limit?.aborted === true ? toTooBusy(stillLimit_ms) : error;
        });
      });
    } finally {
      removeLater(early.dir);
    }
  }

  async function name(
    id: string,
    places: CheckpointPlaces,
    made: CheckpointFiles,
    { comment, is_auto }: NewCheckpoint,
  ): Promise<DriverCheckpoint> {
    const onStep = stepOf(id);
    const state = await readState(places);
    const checkpoint_id = `v${state.next}`;
    const record = { created_ms: Date.now(), comment, source_id: state.current, is_auto };
    onStep('write the record');
    await writeManifest(made, record);
    onStep('take the number');
    await writeState(places, { ...state, next: state.next + 1, pending: { type: 'make', id: checkpoint_id } });
    onStep('name the checkpoint');
    await rename(made.dir, places.of(checkpoint_id).dir);
    await syncDirectory(places.all);
    onStep('stand on the checkpoint');
    await finishPending(places, onStep);
    onStep('renew the links');
    await renewRecentLinks(places);
    return { id: checkpoint_id, ...record, is_healthy: true };
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
        const { left_out } = await copyHome(id, places, made, tree, checkpoint);
        if (left_out > 0) checkpoint.onProgress(`${left_out} sockets and devices are left out`);
        stepOf(id)('write the files to the disk');
        await tree.run({ type: 'sync', path: made.dir });
        return await checkpoint.takeTurn(() => name(id, places, made, checkpoint));
      } catch (error) {
        throw toFull(error);
      } finally {
        removeLater(made.dir);
      }
    },
    async prepareRestore(id, checkpoint_id, work: CheckpointWork): Promise<PreparedRestore> {
      const places = placesOf(id);
      const checkpoint = await find(places, checkpoint_id);
      if (!checkpoint.is_healthy) {
        throw new RemoraError('conflict', `the checkpoint ${checkpoint_id} cannot be read; restore another one`);
      }
      const source = places.of(checkpoint_id);
      const copy = places.unfinished('restore');
      try {
        await using tree = await openTreeProcess(work.signal);
        stepOf(id)('copy the files of the checkpoint');
        await mkdir(copy.dir, { mode: 0o700 });
        const job = {
          type: 'copy',
          source: source.tree,
          isLive: false,
          indexOf: 'target',
          settledBefore_ms: 0,
        } as const;
        await tree.run({ ...job, target: copy.tree, index: copy.index }, toProgress(work.onProgress));
        await keepServices(source.services, copy.services);
        stepOf(id)('write the copy to the disk');
        await tree.run({ type: 'sync', path: copy.dir });
      } catch (error) {
        removeLater(copy.dir);
        throw toFull(error);
      }
      return {
        async putInPlace() {
          await rename(copy.index, source.index);
          await beginRestore(places, copy, checkpoint_id, stepOf(id));
        },
        async [Symbol.asyncDispose]() {
          // A restore that was begun and has failed is finished by the next start, which needs the copy.
          if ((await readState(places)).pending === undefined) removeLater(copy.dir);
        },
      };
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

function toProgress(onProgress: (line: string) => void): (counts: TreeCounts) => void {
  return ({ files, copied_bytes }) => onProgress(`${files} files, ${(copied_bytes / 1e6).toFixed(1)} MB copied`);
}

function toTooBusy(limit_ms: number): RemoraError {
  const why = `its files change faster than they are copied: the machine stood still for ${limit_ms / 1_000} s`;
  return new RemoraError('conflict', `${why}; suspend or stop it, then try again`);
}

/** The records are small, but they need room too. */
function toFull(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error;
  return new RemoraError('storage_full', 'the disk of the machines is full; nothing was changed', { cause: error });
}
