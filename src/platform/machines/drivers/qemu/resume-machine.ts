// Continues a suspended machine from its snapshot, or throws away a snapshot that cannot be used.
import { rm } from 'node:fs/promises';
import type { MachineSpec, SnapshotFault } from '../machine-driver.ts';
import { noteOf, startEmulator } from './boot-machine.ts';
import { type EmulatorSession, endEmulator, loadState } from './emulator/emulator-session.ts';
import type { NewInstance } from './instances.ts';
import type { MachineFiles } from './machine-files.ts';
import { type MachineNote, writeNote } from './machine-note.ts';
import { networkOf } from './network-of.ts';
import { openWay } from './open-way.ts';
import type { QemuHost } from './qemu-host.ts';
import { checkMemory, readSnapshot } from './snapshots/check-snapshot.ts';
import { removeSnapshotManifest } from './snapshots/snapshot-manifest.ts';

/**
 * Resolves with the machine, which runs, or with what is wrong with its snapshot; nothing of it runs then. The snapshot is none any more
 * once the machine may write into it: a crash after that is a loss, and never a machine of two times. Throws what keeps the emulator or the way to the
 * platform from being opened; the snapshot is then as it was.
 */
export async function resumeMachine(
  host: QemuHost,
  spec: MachineSpec,
  before: MachineNote,
): Promise<NewInstance | SnapshotFault> {
  const files = host.filesOf(spec.id);
  const onStep = host.stepOf(spec.id);
  onStep('check the snapshot');
  const { instance_id, memory_mb } = spec;
  const network = networkOf(host, spec.config);
  const use = { machine: spec.id, instance_id, memory_mb, network, ...(await host.versions()) };
  const snapshot = await readSnapshot(files, use);
  if (typeof snapshot === 'string') return snapshot;
  const note: MachineNote = { ...before, phase: 'suspended', plan: snapshot.plan };
  // The emulator starts meanwhile: it uses nothing of the snapshot until it is told to load the state.
  const checking = checkMemory(files, snapshot);
  // It is awaited below; until then its failure is nobody's.
  checking.catch(() => undefined);
  onStep('start the emulator');
  const session = await startEmulator({ host, files, note, isIncoming: true });
  const fault = await checking.catch(async (error: unknown) => {
    await endEmulator(session.process);
    throw error;
  });
  if (fault !== undefined) {
    await endEmulator(session.process);
    return fault;
  }
  // Both take a moment; the machine goes on when both are over.
  const opening = openWay({ host, id: spec.id, session, note });
  opening.catch(() => undefined);
  try {
    await loadState(session);
  } catch (error) {
    opening.then((way) => way[Symbol.dispose]()).catch(() => undefined);
    return await giveUp(host, spec.id, session, error);
  }
  const way = await opening.catch(async (error: unknown) => {
    await endEmulator(session.process);
    throw error;
  });
  try {
    onStep('remove the description');
    await removeSnapshotManifest(files);
    const running = { ...noteOf(note, session), phase: 'running' } as const;
    writeNote(files.dir, running);
    onStep('continue the machine');
    await session.qmp.execute('cont');
    return { ...session, files, note: running, way };
  } catch (error) {
    way[Symbol.dispose]();
    return await giveUp(host, spec.id, session, error);
  }
}

async function giveUp(host: QemuHost, id: string, session: EmulatorSession, error: unknown): Promise<SnapshotFault> {
  await endEmulator(session.process);
  host.log.error({ err: error, machine: id }, 'a snapshot that is whole cannot be continued from');
  return 'corrupted';
}

/** Throws the snapshot of a machine away. Its disk stays. */
export async function dropSnapshot(files: MachineFiles, note: MachineNote): Promise<void> {
  await removeSnapshotManifest(files);
  await rm(files.memory, { force: true });
  await rm(files.state, { force: true });
  writeNote(files.dir, { ...note, pid: undefined, start_ticks: undefined, phase: 'over' });
}
