// Saves a running machine: its memory is in a file already, and what else the emulator knows goes beside it.
//
//   pause ──▶ state ──▶ flush ──▶ sums ──▶ description
import { open, rm } from 'node:fs/promises';
import { syncDirectory } from '../../durable-json.ts';
import type { MachineFiles } from '../machine-files.ts';
import { STATE_SOCKET } from '../machine-files.ts';
import type { MachineNote } from '../machine-note.ts';
import type { QmpClient } from '../qmp/qmp-client.ts';
import { sendState } from '../qmp/run-state.ts';
import { readDiskStamps } from './disk-stamps.ts';
import { receiveState } from './receive-state.ts';
import { writeSnapshotManifest } from './snapshot-manifest.ts';
import { sumInThread } from './sum-in-thread.ts';

export interface SnapshotSave {
  readonly machine: string;
  readonly files: MachineFiles;
  readonly qmp: QmpClient;
  readonly note: MachineNote;
  readonly versions: SnapshotVersions;
  /** Runs before each step. */
  readonly onStep: (step: string) => void;
}

export interface SnapshotVersions {
  readonly emulator: string;
  readonly driver: number;
}

/** The snapshot counts when it resolves, and the machine stands still. When it rejects there is none, and the machine may go on. */
export async function saveSnapshot(save: SnapshotSave): Promise<void> {
  const { files, qmp, note, versions, onStep } = save;
  try {
    onStep('pause the machine');
    await qmp.execute('stop');
    onStep('save the state');
    await receive(save);
    onStep('write the memory to the disk');
    await sync(files.memory);
    await syncDirectory(files.dir);
    onStep('sum the memory');
    const [memory, state] = [await sumInThread(files.memory), await sumInThread(files.state)];
    onStep('write the description');
    await writeSnapshotManifest(files, {
      machine: save.machine,
      instance_id: note.instance_id,
      ...versions,
      image_digest: note.image_digest,
      plan: note.plan,
      memory: { size_bytes: memory.size_bytes, sums: [...memory.sums] },
      state: { size_bytes: state.size_bytes, sums: [...state.sums] },
      disks: await readDiskStamps(files, note.plan),
      created_ms: Date.now(),
    });
    onStep('the snapshot counts');
  } catch (error) {
    await rm(files.manifest, { force: true });
    await rm(`${files.manifest}~`, { force: true });
    await rm(files.state, { force: true });
    throw error;
  }
}

async function receive({ files, qmp, note }: SnapshotSave): Promise<void> {
  await using receiver = await receiveState(files, note.uid);
  const sent = sendState(qmp, `unix:${STATE_SOCKET}`);
  try {
    // A failed write ends the connection, and the emulator fails after it: the error of the disk comes first.
    await Promise.all([sent, receiver.received]);
  } finally {
    // The machine can go on only when nothing is sent any more.
    await sent.catch(() => undefined);
  }
}

async function sync(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync();
}
