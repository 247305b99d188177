// Checks a snapshot before it is used: its description, then every byte.
import { RemoraError } from '../../../../../core/remora-error.ts';
import type { SnapshotFault } from '../../machine-driver.ts';
import type { MachineFiles } from '../machine-files.ts';
import { areDisksUnchanged } from './disk-stamps.ts';
import { judgeSnapshot, type SnapshotUse } from './judge-snapshot.ts';
import { readSnapshotManifest, type SnapshotManifest } from './snapshot-manifest.ts';
import { isUnchanged } from './sum-in-thread.ts';

/** Resolves with the description of a snapshot that is what was written, else with what is wrong. */
export async function checkSnapshot(files: MachineFiles, use: SnapshotUse): Promise<SnapshotManifest | SnapshotFault> {
  const manifest = await readSnapshotManifest(files);
  const fault = judgeSnapshot(manifest, use);
  if (fault !== undefined || manifest === undefined || manifest === 'damaged') return fault ?? 'lost';
  if (!(await areDisksUnchanged(files, manifest))) return 'corrupted';
  try {
    const isWhole =
      (await isUnchanged(files.state, manifest.state)) && (await isUnchanged(files.memory, manifest.memory));
    return isWhole ? manifest : 'corrupted';
  } catch (error) {
    if (error instanceof RemoraError && error.code === 'not_found') return 'lost';
    throw error;
  }
}
