// Ends of machines on request: a stop, which is recorded before the machine has ended, and a deletion.
import type { Clock } from '../../../core/clock.ts';
import { toErrorMessage } from '../../../core/error-message.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createNoticeOutbox } from '../../machine-notices/notice-outbox.ts';
import type { Sql, Storage } from '../../storage/storage.ts';
import type { MachineDriver, StopOptions } from '../drivers/machine-driver.ts';
import type { WantedState } from '../records/machine-row.ts';
import { createMachineStore, type MachineStore } from '../records/machine-store.ts';
import type { MachineRecords } from './machine-records.ts';
import type { Restarts } from './pending-restarts.ts';
import type { Waiters } from './state-waiters.ts';

export interface StopsDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  /** The id of this platform process. */
  readonly host: string;
  readonly machines: Pick<MachineStore, 'find' | 'want' | 'claim'>;
  readonly driver: Pick<MachineDriver, 'stop' | 'discard' | 'dropSnapshot' | 'state'>;
  readonly records: Pick<MachineRecords, 'ownRow' | 'movableRow' | 'move' | 'want' | 'discard' | 'judge'>;
  readonly restarts: Pick<Restarts, 'cancel'>;
  readonly waiters: Pick<Waiters, 'settle' | 'end' | 'failSuspend'>;
  readonly mutex: KeyedMutex;
  readonly clock: Pick<Clock, 'wall_ms'>;
  readonly onEvent: (machine_id: string) => void;
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
  /** Ends a machine whose stop was recorded and has failed. Does nothing for one that is to run meanwhile. */
  endLeft(id: string): Promise<void>;
  /** Ends a machine because its host is drained. `isKept`: it is still to run, and boots when the host is open again. */
  stopForMaintenance(id: string, isKept: boolean): Promise<void>;
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
      const row = await machines.find(id);
      const also = row === undefined ? [] : records.judge(row, 'stop').also;
      if (row !== undefined && also.includes('drop the snapshot') && row.discarded === null) {
        await records.discard(row, 'stopped');
      }
      await driver.stop(id, options);
      // A snapshot of which nothing runs is no instance that ends.
      await driver.dropSnapshot(id);
      if (row !== undefined && records.judge(row, 'stop').to !== row.state) await records.move(id, 'stop');
    } catch (error) {
      await runOn(id, error);
      throw error;
    } finally {
      stopping.delete(id);
    }
  }

  /** The freeze of a machine that is to run was called off for an end that failed: nothing else finishes its suspend. */
  async function runOn(id: string, error: unknown): Promise<void> {
    const row = await machines.find(id);
    if (row?.state !== 'suspending' || row.wanted !== 'running' || driver.state(id) !== 'running') return;
    const message = `it was to end meanwhile, and that has failed: ${toErrorMessage(error)}`;
    await records.move(id, 'unfrozen', { message });
    deps.waiters.failSuspend(id, message);
  }

  return {
    isStopping: (id) => stopping.has(id),
    isRebooting: (id) => stopping.get(id) === 'running',
    async stop(id, options) {
      const row = await records.movableRow(id);
      restarts.cancel(id);
      await records.want(row, 'stopped', records.judge(row, 'stop').to === row.state ? undefined : { type: 'stop' });
      return { ended: mutex.run(id, () => endNow(id, 'stopped', options)) };
    },
    endNow,
    end: (id) => mutex.run(id, () => endNow(id, 'stopped')),
    endLeft: (id) =>
      mutex.run(id, async () => {
        const row = await machines.find(id);
        if (row?.wanted === 'stopped' && records.judge(row, 'stop').to !== row.state) await endNow(id, 'stopped');
      }),
    stopForMaintenance: (id, isKept) =>
      mutex.run(id, async () => {
        const row = await records.movableRow(id);
        if (row.state === 'suspended' || records.judge(row, 'stop').to === row.state) return;
        const wanted = isKept ? 'running' : 'stopped';
        await records.want(row, wanted, { type: 'stop', source: 'platform', cause: 'maintenance' });
        await endNow(id, wanted);
      }),
    async destroy(id) {
      // Claimed first, so that no other host can start it meanwhile.
      await machines.claim(id, deps.host);
      const row = await records.ownRow(id);
      await records.want(row, 'destroyed', row.wanted === 'destroyed' ? undefined : { type: 'destroy' });
      await mutex.run(id, async () => {
        await endNow(id, 'destroyed');
        await driver.discard(id);
        await deps.storage.transaction((sql) => deleteMachine(sql, id, deps.clock.wall_ms()));
      });
      deps.onEvent(id);
      deps.waiters.settle(id, { state: 'destroyed', instance_id: row.instance_id });
      deps.waiters.end(id, new RemoraError('invalid_state', 'the machine was destroyed, the state can no longer come'));
    },
  };
}

/** The provider whose app the machine was of is told so; the events of the machine go with it. */
async function deleteMachine(sql: Sql, id: string, now_ms: number): Promise<void> {
  const machines = createMachineStore(sql);
  const row = await machines.find(id);
  if (row !== undefined) {
    const event = { type: 'destroy', status: 'destroyed', source: 'platform', timestamp: now_ms } as const;
    await createNoticeOutbox(sql).addOfMachine(id, { id: 'destroyed', ...event }, row.state);
  }
  await machines.delete(id, now_ms);
}
