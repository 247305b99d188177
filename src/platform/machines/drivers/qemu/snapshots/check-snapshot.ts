// Checks a snapshot before it is used: its description, then every byte.
import { stat } from 'node:fs/promises';
import { errorCode } from '../../../../../core/error-code.ts';
import { RemoraError } from '../../../../../core/remora-error.ts';
import type { SnapshotFault } from '../../machine-driver.ts';
import type { MachineFiles } from '../machine-files.ts';
import { areDisksUnchanged } from './disk-stamps.ts';
import { judgeSnapshot, type SnapshotUse } from './judge-snapshot.ts';
import { readSnapshotManifest, type SnapshotManifest } from './snapshot-manifest.ts';
import { isUnchanged } from './sum-in-thread.ts';

/** Resolves with the description of a snapshot that is what was written, else with what is wrong. */
export async function checkSnapshot(files: MachineFiles, use: SnapshotUse): Promise<SnapshotManifest | SnapshotFault> {
  const described = await readSnapshot(files, use);
  if (typeof described === 'string') return described;
  return (await checkMemory(files, described)) ?? described;
}

/**
 * The same without reading the memory and the state, which takes long. Both are there with their sizes, so that an emulator neither
 * makes them nor lets them grow.
 */
export async function readSnapshot(files: MachineFiles, use: SnapshotUse): Promise<SnapshotManifest | SnapshotFault> {
  const manifest = await readSnapshotManifest(files);
  const fault = judgeSnapshot(manifest, use);
  if (fault !== undefined || manifest === undefined || manifest === 'damaged') return fault ?? 'lost';
  try {
    const [state, memory] = await Promise.all([stat(files.state), stat(files.memory)]);
    const haveSizes = state.size === manifest.state.size_bytes && memory.size === manifest.memory.size_bytes;
    return haveSizes && (await areDisksUnchanged(files, manifest)) ? manifest : 'corrupted';
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'lost';
    throw error;
  }
}

/** Resolves with what is wrong with the memory or the state of a snapshot; with undefined when every byte is what was written. */
export async function checkMemory(files: MachineFiles, manifest: SnapshotManifest): Promise<SnapshotFault | undefined> {
  try {
    const areWhole = await Promise.all([
      isUnchanged(files.state, manifest.state),
      isUnchanged(files.memory, manifest.memory),
    ]);
    return areWhole.every(Boolean) ? undefined : 'corrupted';
  } catch (error) {
    if (error instanceof RemoraError && error.code === 'not_found') return 'lost';
    throw error;
  }
}
