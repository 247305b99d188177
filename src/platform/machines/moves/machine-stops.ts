// Ends of machines on request: a stop, which is recorded before the machine has ended, and a deletion.
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { MachineDriver, StopOptions } from '../drivers/machine-driver.ts';
import type { MachineStore, WantedState } from '../records/machine-store.ts';
import type { MachineRecords } from './machine-records.ts';
import type { Restarts } from './pending-restarts.ts';
import type { Waiters } from './state-waiters.ts';

export interface StopsDeps {
  /** The id of this platform process. */
  readonly host: string;
  readonly machines: Pick<MachineStore, 'find' | 'want' | 'claim' | 'delete'>;
  readonly driver: Pick<MachineDriver, 'stop' | 'discard'>;
  readonly records: Pick<MachineRecords, 'ownRow' | 'movableRow' | 'move'>;
  readonly restarts: Pick<Restarts, 'cancel'>;
  readonly waiters: Pick<Waiters, 'end'>;
  readonly mutex: KeyedMutex;
  /** Cancels a freeze that is pending. */
  readonly callOffFreeze: (id: string) => void;
}

export interface MachineStops {
  /** Whether the machine is being ended: a suspend meanwhile is refused, and its exit is not a crash. */
  isStopping(id: string): boolean;
  /** Whether it is being ended to be booted again. */
  isRebooting(id: string): boolean;
  /** See `MachineService.stop`. */
  stop(id: string, options: StopOptions): Promise<{ readonly ended: Promise<void> }>;
  /**
   * Ends a machine whose turn the caller has, and keeps its record. `wanted`: with `running` the machine keeps its place among those that
   * run until the caller boots it, and a platform that takes over boots it.
   */
  endNow(id: string, wanted: WantedState, options?: StopOptions): Promise<void>;
  /** Ends a machine as its deletion does, and keeps its record. */
  end(id: string): Promise<void>;
  /** See `MachineService.destroy`. */
  destroy(id: string): Promise<void>;
}

const DESTROY: StopOptions = { signal: 'SIGTERM', timeout_ms: 5_000 };

export function createStops(deps: StopsDeps): MachineStops {
  const { machines, driver, records, restarts, mutex } = deps;
  const stopping = new Map<string, WantedState>();

  async function endNow(id: string, wanted: WantedState, options = DESTROY): Promise<void> {
    deps.callOffFreeze(id);
    restarts.cancel(id);
    stopping.set(id, wanted);
    try {
      await machines.want(id, wanted);
      await driver.stop(id, options);
      if ((await machines.find(id))?.state !== 'stopped') await records.move(id, 'stopped');
    } finally {
      stopping.delete(id);
    }
  }

  return {
    isStopping: (id) => stopping.has(id),
    isRebooting: (id) => stopping.get(id) === 'running',
    async stop(id, options) {
      await records.movableRow(id);
      restarts.cancel(id);
      await machines.want(id, 'stopped');
      return { ended: mutex.run(id, () => endNow(id, 'stopped', options)) };
    },
    endNow,
    end: (id) => mutex.run(id, () => endNow(id, 'stopped')),
    async destroy(id) {
      // Claimed first, so that no other host can start it meanwhile.
      await machines.claim(id, deps.host);
      await records.ownRow(id);
      await mutex.run(id, async () => {
        await endNow(id, 'stopped');
        await machines.delete(id);
        await driver.discard(id);
      });
      deps.waiters.end(id, new RemoraError('invalid_state', 'the machine was destroyed, the state can no longer come'));
    },
  };
}
