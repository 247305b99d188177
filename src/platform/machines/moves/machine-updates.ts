// Updates of machines: another configuration, whose first instance replaces the one that runs. The instance ends before the
// configuration is stored, and the next one begins after: a crash between the steps leaves the old version or the new one.
import type { MachineConfig } from '../../../contract/machine-config.ts';
import type { MachineStatus } from '../../../contract/machines.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { MachineDriver, StopSignal } from '../drivers/machine-driver.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import type { MachineRecords } from './machine-records.ts';
import type { MachineStarts } from './machine-starts.ts';
import type { MachineStops } from './machine-stops.ts';
import type { SnapshotUses } from './snapshot-uses.ts';

export interface MachineChange {
  /** The version, or the instance, that the machine must have; undefined: any. */
  readonly expected: string | undefined;
  /** The machine is not started, also one that ran. */
  readonly skipLaunch: boolean;
  /** Throws for a change that cannot be carried out; nothing has happened then. */
  readonly check: (row: MachineRow) => Promise<void>;
  /** Stores the new configuration. The machine does not run. */
  readonly store: (row: MachineRow) => Promise<void>;
}

export interface MachineUpdates {
  /** See `MachineService.update`. */
  update(id: string, change: MachineChange): Promise<MachineRow>;
  /** See `MachineService.launch`. */
  launch(id: string): Promise<void>;
  /** See `MachineService.checkConfig`. */
  checkConfig(config: MachineConfig): void;
  /** See `MachineService.signal`. */
  signal(id: string, signal: StopSignal): Promise<void>;
}

export interface UpdatesDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly driver: Pick<MachineDriver, 'checkConfig' | 'signal'>;
  readonly records: Pick<MachineRecords, 'movableRow'>;
  readonly starts: Pick<MachineStarts, 'startNow'>;
  readonly stops: Pick<MachineStops, 'endNow'>;
  readonly snapshots: Pick<SnapshotUses, 'drop'>;
  readonly mutex: KeyedMutex;
}

const idle: readonly MachineStatus[] = ['created', 'stopped', 'failed'];

export function createUpdates({
  machines,
  driver,
  records,
  starts,
  stops,
  snapshots,
  mutex,
}: UpdatesDeps): MachineUpdates {
  return {
    update: (id, change) =>
      mutex.run(id, async () => {
        const row = await records.movableRow(id);
        checkVersion(row, change.expected);
        await change.check(row);
        // One that ended by itself and waits to be started again counts as one that runs.
        const isLaunched = row.wanted === 'running' && !change.skipLaunch;
        if (row.state === 'suspended') await snapshots.drop(row, 'deploy');
        else if (!idle.includes(row.state)) await stops.endNow(id, isLaunched ? 'running' : 'stopped');
        try {
          await change.store(row);
        } catch (error) {
          // It ran, so it runs again with the configuration that it had.
          if (row.wanted === 'running' && row.state !== 'suspended') await starts.startNow(id);
          throw error;
        }
        if (isLaunched && row.state !== 'suspended') await starts.startNow(id);
        const updated = await machines.find(id);
        if (updated === undefined) throw new RemoraError('not_found', 'there is no such machine');
        return updated;
      }),
    launch: async (id) => {
      await mutex.run(id, () => starts.startNow(id));
    },
    checkConfig: (config) => driver.checkConfig(config),
    async signal(id, signal) {
      await records.movableRow(id);
      await driver.signal(id, signal);
    },
  };
}

function checkVersion({ version, instance_id }: MachineRow, expected: string | undefined): void {
  if (expected === undefined || expected === version || expected === instance_id) return;
  const message = 'the machine has another version meanwhile; read it again, and send its version in current_version';
  throw new RemoraError('conflict', message, { details: { current_version: version, instance_id } });
}
