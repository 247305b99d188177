// Decides from its description whether a snapshot may be used. Pure.
import type { SnapshotFault } from '../../machine-driver.ts';
import type { SnapshotManifest } from './snapshot-manifest.ts';

export interface SnapshotUse {
  readonly machine: string;
  readonly instance_id: string;
  readonly emulator: string;
  readonly driver: number;
  readonly memory_mb: number;
  /** The way out that the machine is to have: the emulator's network card is another one with each. */
  readonly network: 'none' | 'egress';
}

const MB = 1024 * 1024;

/** Undefined when it may; its contents have still to be compared with their sums. */
export function judgeSnapshot(
  manifest: SnapshotManifest | 'damaged' | undefined,
  use: SnapshotUse,
): SnapshotFault | undefined {
  if (manifest === undefined) return 'lost';
  if (manifest === 'damaged') return 'corrupted';
  if (manifest.machine !== use.machine || manifest.instance_id !== use.instance_id) return 'corrupted';
  if (manifest.emulator !== use.emulator || manifest.driver !== use.driver) return 'maintenance';
  const { memory, plan } = manifest;
  if ((plan.network ?? 'none') !== use.network) return 'maintenance';
  const isWhole = memory.size_bytes === plan.memory_mb * MB && plan.memory_mb === use.memory_mb;
  return isWhole ? undefined : 'corrupted';
}
