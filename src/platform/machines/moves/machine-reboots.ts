// Restarts of machines on request: a stop and a boot in one turn, between which the machine keeps its place among those that run.
import type { MachineStatus } from '../../../contract/machines.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { StopOptions } from '../drivers/machine-driver.ts';
import type { MachineRecords } from './machine-records.ts';
import type { MachineStarts } from './machine-starts.ts';
import type { MachineStops } from './machine-stops.ts';
import type { PendingStarts } from './pending-starts.ts';

export interface RebootsDeps {
  readonly records: Pick<MachineRecords, 'movableRow'>;
  readonly starts: Pick<MachineStarts, 'startNow' | 'bootSuspended'>;
  readonly stops: Pick<MachineStops, 'endNow'>;
  readonly pendingStarts: Pick<PendingStarts, 'ready'>;
  readonly mutex: KeyedMutex;
}

const idle: readonly MachineStatus[] = ['created', 'stopped', 'failed'];
const STOP: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

/** Returns `MachineService.restart`. */
export function createReboots({ records, starts, stops, pendingStarts, mutex }: RebootsDeps) {
  return async (id: string, options: StopOptions = STOP): Promise<void> => {
    await mutex.run(id, async () => {
      const row = await records.movableRow(id);
      if (row.state === 'suspended') return await starts.bootSuspended(row, 'stopped');
      if (!idle.includes(row.state)) await stops.endNow(id, 'running', options);
      await starts.startNow(id);
    });
    await pendingStarts.ready(id);
  };
}
