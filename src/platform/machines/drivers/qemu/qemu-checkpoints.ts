// The checkpoints of this driver: frozen disks. A machine that does not run goes on with a new disk over the frozen one; one that runs keeps
// its disk, of which the frozen one is a copy.
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import { syncDirectory } from '../durable-json.ts';
import type { DriverCheckpoint, MachineCheckpoints, NewCheckpoint } from '../machine-checkpoints.ts';
import { toStorageFull } from '../storage-full.ts';
import {
  diskOf,
  listCheckpoints,
  recordOf,
  takeNumber,
  writeCheckpointRecord,
  writeCopied,
} from './checkpoint-records.ts';
import { copyDisk, endCopy } from './copy-disk.ts';
import { finishFreeze, freezeDisk, makeOverlay, RESTORED, readCurrent, removeUnused } from './disk-chain.ts';
import { askToSync } from './guest/host-port.ts';
import type { Instances } from './instances.ts';
import { readNote } from './machine-note.ts';
import { hasDisk } from './prepare-machine.ts';
import type { QemuHost } from './qemu-host.ts';
import { renewDiskStamps } from './snapshots/disk-stamps.ts';

const SYNC_MS = 3_000;

export function createQemuCheckpoints(host: QemuHost, instances: Pick<Instances, 'get'>): MachineCheckpoints {
  async function find(id: string, checkpoint_id: string): Promise<DriverCheckpoint> {
    const found = (await listCheckpoints(host.filesOf(id))).find((each) => each.id === checkpoint_id);
    if (found === undefined) throw new RemoraError('not_found', `there is no checkpoint ${checkpoint_id}`);
    return found;
  }

  /** The machine does not move meanwhile. One that runs writes its files out first, and goes on. */
  async function keep(id: string, { comment, is_auto, signal, onProgress }: NewCheckpoint): Promise<DriverCheckpoint> {
    const files = host.filesOf(id);
    const onStep = host.stepOf(id);
    const running = instances.get(id);
    const place = { files, uid: readNote(files.dir)?.uid };
    if (running === undefined) await finishFreeze(files);
    await endCopy(files, running?.qmp);
    await removeUnused(files);
    const source_id = await readCurrent(files);
    const checkpoint_id = await takeNumber(files);
    if (running === undefined) {
      onStep('freeze the disk');
      await freezeDisk(place, checkpoint_id);
      // The disk of a suspended machine has the same content as before under another time.
      await renewDiskStamps(files);
    } else {
      if (!(await askToSync(files.dir, SYNC_MS))) onProgress('the machine has not said that its files are written out');
      await copyDisk({ ...place, qmp: running.qmp, signal, onProgress, onStep }, checkpoint_id);
    }
    onStep('write the record');
    const record = { created_ms: Date.now(), comment, source_id, is_auto };
    await writeCheckpointRecord(files, checkpoint_id, record);
    if (running !== undefined) await writeCopied(files, checkpoint_id);
    return { id: checkpoint_id, ...record, is_healthy: true };
  }

  return {
    list: (id) => listCheckpoints(host.filesOf(id)),
    current: (id) => readCurrent(host.filesOf(id)),
    async make(id, checkpoint) {
      const files = host.filesOf(id);
      if (!hasDisk(files)) {
        throw new RemoraError(
          'invalid_state',
          'the machine was never started: it has no files to keep; start it first',
        );
      }
      try {
        checkpoint.signal.throwIfAborted();
        return await checkpoint.takeTurn(() => keep(id, checkpoint));
      } catch (error) {
        throw toStorageFull(error);
      }
    },
    async prepareRestore(id, checkpoint_id, { onProgress }) {
      const files = host.filesOf(id);
      if (!(await find(id, checkpoint_id)).is_healthy) {
        throw new RemoraError('conflict', `the checkpoint ${checkpoint_id} cannot be read; restore another one`);
      }
      const prepared = join(files.dir, RESTORED);
      const frozen = `${checkpoint_id}.qcow2`;
      await makeOverlay({ files, uid: readNote(files.dir)?.uid }, frozen, RESTORED, frozen);
      onProgress('a disk over the checkpoint is made');
      return {
        async putInPlace() {
          host.stepOf(id)('put the disk in place');
          await rename(prepared, files.disk);
          await syncDirectory(files.dir);
          await removeUnused(files);
        },
        [Symbol.asyncDispose]: () => rm(prepared, { force: true }),
      };
    },
    async remove(id, checkpoint_id) {
      await find(id, checkpoint_id);
      const files = host.filesOf(id);
      await rm(recordOf(files, checkpoint_id), { force: true });
      await syncDirectory(files.checkpoints);
      await removeUnused(files);
      host.log.debug({ machine: id, kept: diskOf(files, checkpoint_id) }, 'a checkpoint was removed');
    },
  };
}
