// Finds the emulator of a note that an earlier platform process wrote, and finishes or undoes what that process was doing with it.
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { readBootId } from '../../../../linux/boot-id.ts';
import { isAlive, type ProcessIdentity } from '../../../../linux/processes/process-identity.ts';
import type { MarkedProcess } from '../../../../linux/processes/process-table.ts';
import type { FoundInstance } from '../machine-driver.ts';
import { followProcess } from '../machine-process.ts';
import { noteOf } from './boot-machine.ts';
import { endCopy } from './copy-disk.ts';
import { finishFreeze, RESTORED } from './disk-chain.ts';
import { endEmulator } from './emulator/emulator-session.ts';
import type { Instances } from './instances.ts';
import type { MachineFiles } from './machine-files.ts';
import { type MachineNote, renewNote } from './machine-note.ts';
import { openWay } from './open-way.ts';
import type { QemuHost } from './qemu-host.ts';
import { connectQmp } from './qmp/connect-qmp.ts';
import { readRunState } from './qmp/run-state.ts';
import { renewDiskStamps } from './snapshots/disk-stamps.ts';
import { readSnapshotManifest, removeSnapshotManifest } from './snapshots/snapshot-manifest.ts';

export interface Finding {
  readonly host: QemuHost;
  readonly instances: Pick<Instances, 'begin' | 'addSuspended'>;
  /** The processes of the whole host. */
  readonly table: readonly MarkedProcess[];
  /** Aborted at the end: found processes are no longer polled. */
  readonly signal: AbortSignal;
}

/** Paused by a platform that ended in the middle of a suspend, or just before the machine was to go on. */
const PAUSED = ['paused', 'postmigrate', 'finish-migrate'];

export async function findMachine(id: string, note: MachineNote, finding: Finding): Promise<FoundInstance> {
  const { host, instances, table } = finding;
  const { instance_id } = note;
  const files = host.filesOf(id);
  const emulator = toEmulator(note, table);
  const hasSnapshot = (await readSnapshotManifest(files)) !== undefined;
  if (emulator !== undefined && (await adopt(id, { note, files, emulator, hasSnapshot }, finding))) {
    return { id, instance_id, state: 'running' };
  }
  await endCopy(files);
  await rm(join(files.dir, RESTORED), { force: true });
  if (await finishFreeze(files)) await renewDiskStamps(files);
  if (hasSnapshot || note.phase === 'suspended') {
    // A snapshot without its description is `lost`, which the next start says.
    const suspended: MachineNote = { ...note, pid: undefined, start_ticks: undefined, phase: 'suspended' };
    renewNote(files.dir, note, suspended);
    instances.addSuspended(id, suspended);
    return { id, instance_id, state: 'suspended' };
  }
  return { id, instance_id, state: note.phase === 'over' || note.boot_id === readBootId() ? 'over' : 'lost' };
}

interface Found {
  readonly note: MachineNote;
  readonly files: MachineFiles;
  readonly emulator: ProcessIdentity;
  readonly hasSnapshot: boolean;
}

/** Whether the machine runs under this platform now. If not, its emulator has ended. */
async function adopt(id: string, { note, files, emulator, hasSnapshot }: Found, finding: Finding): Promise<boolean> {
  const { host } = finding;
  try {
    const qmp = await connectQmp(files.dir);
    const state = await readRunState(qmp);
    if (!mayGoOn(state, hasSnapshot)) throw new Error(`it is ${state}`);
    if (hasSnapshot) await removeSnapshotManifest(files);
    await endCopy(files, qmp);
    if (PAUSED.includes(state)) await qmp.execute('cont');
    const session = { process: followProcess(emulator, finding.signal), qmp };
    const running: MachineNote = { ...noteOf(note, session), phase: 'running' };
    renewNote(files.dir, note, running);
    const way = await openWay({ host, id, session, note: running });
    finding.instances.begin(id, { ...session, files, note: running, way });
    return true;
  } catch (error) {
    host.log.debug({ err: error, machine: id }, 'an emulator that was found is ended');
    await endEmulator(emulator);
    return false;
  }
}

/**
 * A machine that was saved is left to its snapshot, and one that is being loaded too; one that was loaded goes on, because the emulator
 * has written its new generation into the memory. Without a snapshot whatever stands still goes on.
 */
function mayGoOn(state: string, hasSnapshot: boolean): boolean {
  // `io-error`: it waits for room on the disk.
  if (state === 'running' || state === 'io-error' || state === 'paused') return true;
  return !hasSnapshot && PAUSED.includes(state);
}

/** A note without a pid means that the platform was killed during the spawn: the emulator is then the marked process that leads a group. */
function toEmulator({ pid, start_ticks, instance_id, phase }: MachineNote, table: readonly MarkedProcess[]) {
  if (phase === 'over') return undefined;
  const known = pid === undefined || start_ticks === undefined ? undefined : { pid, start_ticks };
  const marked = table.find((each) => each.mark === instance_id && each.pid === each.group);
  const emulator: ProcessIdentity | undefined = known ?? marked;
  return emulator !== undefined && isAlive(emulator) ? emulator : undefined;
}
