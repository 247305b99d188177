// Suspends a machine: saves it, and ends its emulator, which gives its memory back to the host.
import { RemoraError } from '../../../../core/remora-error.ts';
import { withDeadline } from '../../../../core/with-deadline.ts';
import { isAlive } from '../../../../linux/processes/process-identity.ts';
import { toStorageFull } from '../storage-full.ts';
import { endEmulator } from './emulator/emulator-session.ts';
import { askToSync } from './guest/host-port.ts';
import type { Instance } from './instances.ts';
import { writeNote } from './machine-note.ts';
import type { QemuHost } from './qemu-host.ts';
import { saveSnapshot } from './snapshots/save-snapshot.ts';
import { removeSnapshotManifest } from './snapshots/snapshot-manifest.ts';

const QUIT_MS = 5_000;
const SYNC_MS = 3_000;

/** When it rejects, the machine runs on, or has ended and its exit was told. Throws `storage_full` for want of room. */
export async function suspendMachine(host: QemuHost, id: string, instance: Instance): Promise<void> {
  const { files, qmp, note, process } = instance;
  const onStep = host.stepOf(id);
  // A snapshot may turn out to be of no use later: then the disk is all that is left.
  if (!(await askToSync(files.dir, SYNC_MS)))
    host.log.debug({ machine: id }, 'the machine did not answer that it has synced');
  try {
    await saveSnapshot({ machine: id, files, qmp, note, versions: await host.versions(), onStep });
  } catch (error) {
    await goOn(instance);
    throw toStorageFull(error);
  }
  if (instance.hasEnded) {
    await removeSnapshotManifest(files);
    throw new RemoraError('internal', 'the emulator of the machine ended while the machine was saved');
  }
  instance.isSaved = true;
  writeNote(files.dir, { ...note, pid: undefined, start_ticks: undefined, phase: 'suspended' });
  onStep('end the emulator');
  await qmp.execute('quit').catch(() => undefined);
  await withDeadline(QUIT_MS, process.ended).catch(() => endEmulator(process));
  await instance.over;
}

async function goOn({ qmp, process, over }: Instance): Promise<void> {
  try {
    await qmp.execute('cont');
  } catch (error) {
    if (isAlive(process))
      throw new RemoraError('internal', 'the machine stands still and cannot go on', { cause: error });
    await over;
  }
}
