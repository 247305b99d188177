// The checkpoints of this driver: frozen disks, on which the machine goes on writing to a new one.
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { RemoraError } from '../../../../core/remora-error.ts';
import { syncDirectory } from '../durable-json.ts';
import type { DriverCheckpoint, MachineCheckpoints, NewCheckpoint } from '../machine-checkpoints.ts';
import { toStorageFull } from '../storage-full.ts';
import { diskOf, listCheckpoints, recordOf, takeNumber, writeCheckpointRecord } from './checkpoint-records.ts';
import { finishFreeze, freezeDisk, makeOverlay, readCurrent, removeUnused } from './disk-chain.ts';
import type { Instances } from './instances.ts';
import { readNote } from './machine-note.ts';
import { hasDisk } from './prepare-machine.ts';
import type { QemuHost } from './qemu-host.ts';
import { renewDiskStamps } from './snapshots/disk-stamps.ts';

const RESTORE = 'restore.qcow2';

export function createQemuCheckpoints(host: QemuHost, instances: Pick<Instances, 'get'>): MachineCheckpoints {
  async function find(id: string, checkpoint_id: string): Promise<DriverCheckpoint> {
    const found = (await listCheckpoints(host.filesOf(id))).find((each) => each.id === checkpoint_id);
    if (found === undefined) throw new RemoraError('not_found', `there is no checkpoint ${checkpoint_id}`);
    return found;
  }

  /** The machine does not move meanwhile. */
  async function freeze(id: string, { comment, is_auto }: NewCheckpoint): Promise<DriverCheckpoint> {
    // After a change of the disk under a running machine this emulator was seen to refuse to save its state.
    if (instances.get(id) !== undefined) {
      throw new RemoraError('not_implemented', 'a virtual machine that runs has no checkpoint yet; suspend it first');
    }
    const files = host.filesOf(id);
    await finishFreeze(files);
    const source_id = await readCurrent(files);
    const checkpoint_id = await takeNumber(files);
    const place = { files, uid: readNote(files.dir)?.uid };
    const onStep = host.stepOf(id);
    onStep('freeze the disk');
    await freezeDisk(place, checkpoint_id);
    // The disk of a suspended machine has the same content as before under another time.
    await renewDiskStamps(files);
    onStep('write the record');
    const record = { created_ms: Date.now(), comment, source_id, is_auto };
    await writeCheckpointRecord(files, checkpoint_id, record);
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
        return await checkpoint.takeTurn(() => freeze(id, checkpoint));
      } catch (error) {
        throw toStorageFull(error);
      }
    },
    async prepareRestore(id, checkpoint_id, { onProgress }) {
      const files = host.filesOf(id);
      if (!(await find(id, checkpoint_id)).is_healthy) {
        throw new RemoraError('conflict', `the checkpoint ${checkpoint_id} cannot be read; restore another one`);
      }
      const prepared = join(files.dir, RESTORE);
      const frozen = `${checkpoint_id}.qcow2`;
      await makeOverlay({ files, uid: readNote(files.dir)?.uid }, frozen, RESTORE, frozen);
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
