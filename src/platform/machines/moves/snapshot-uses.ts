// Uses of the snapshots of machines: going on from one, and throwing one away. The end of a frozen instance that comes of it is no crash.
import type { DiscardCause } from '../../../contract/machine-events.ts';
import type { InstanceEnd, MachineDriver } from '../drivers/machine-driver.ts';
import type { MachineRow } from '../records/machine-row.ts';
import { toMachineSpec } from '../records/machine-views.ts';
import type { MachineRecords } from './machine-records.ts';

export interface SnapshotUsesDeps {
  readonly driver: Pick<MachineDriver, 'resume' | 'dropSnapshot' | 'state'>;
  readonly records: Pick<MachineRecords, 'discard'>;
  readonly onExit: (id: string, end: InstanceEnd) => Promise<void>;
}

export interface SnapshotUses {
  /** Whether an end of the instance now is that of its snapshot. */
  isDropping(id: string): boolean;
  /** False when the snapshot could not be used; the discard is then recorded, and nothing of the instance is left. */
  resume(row: MachineRow): Promise<boolean>;
  /** Throws the snapshot of a suspended machine away; its files stay. The cause is recorded first, so that no crash leaves it valid. */
  drop(row: MachineRow, cause: DiscardCause): Promise<void>;
}

export function createSnapshotUses({ driver, records, onExit }: SnapshotUsesDeps): SnapshotUses {
  const dropping = new Set<string>();

  async function whileDropping<T>(id: string, step: () => Promise<T>): Promise<T> {
    dropping.add(id);
    try {
      return await step();
    } finally {
      dropping.delete(id);
    }
  }

  return {
    isDropping: (id) => dropping.has(id),
    async resume(row) {
      const resumption = await whileDropping(row.id, () => driver.resume(toMachineSpec(row)));
      if (resumption.outcome === 'discarded') {
        await records.discard(row, resumption.cause);
        return false;
      }
      // It ended as soon as it went on.
      if (driver.state(row.id) === 'stopped') await onExit(row.id, { exit_code: null, signal: null });
      return true;
    },
    async drop(row, cause) {
      if (row.discarded === null) await records.discard(row, cause);
      await whileDropping(row.id, () => driver.dropSnapshot(row.id));
    },
  };
}
