// Starts of machines: boots, thaws, suspends that are cancelled, and machines that are started again by themselves.
import type { MachineStatus } from '../../../contract/machines.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { Log } from '../../../core/log.ts';
import { randomHex } from '../../../core/urandom.ts';
import type { InstanceEnd, MachineDriver } from '../drivers/machine-driver.ts';
import type { MachineRow, MachineStore } from '../records/machine-store.ts';
import { toMachineSpec } from '../records/machine-views.ts';
import type { MachineRecords } from './machine-records.ts';
import type { Restarts } from './pending-restarts.ts';
import type { PendingStarts } from './pending-starts.ts';

export interface StartsDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly driver: Pick<MachineDriver, 'start' | 'resume' | 'state'>;
  readonly records: Pick<MachineRecords, 'movableRow' | 'move'>;
  readonly pendingStarts: Pick<PendingStarts, 'expect' | 'isExpected' | 'ready'>;
  readonly restarts: Restarts;
  readonly mutex: KeyedMutex;
  /** Cancels a freeze that is pending. */
  readonly callOffFreeze: (id: string) => void;
  readonly onExit: (id: string, end: InstanceEnd) => Promise<void>;
  /** Aborted when the platform ends. */
  readonly signal: AbortSignal;
  readonly log: Pick<Log, 'info' | 'error'>;
}

export interface MachineStarts {
  /** See `MachineService.start`. */
  start(id: string): Promise<MachineStatus>;
  /** Does what `start` does until the machine runs; the caller has its turn, and waits for the first report. */
  startNow(id: string): Promise<MachineStatus>;
  /** Boots a machine that ended, or that was to run when the platform process before this one ended. Waits for `serve`; never rejects. */
  startAgain(id: string): Promise<void>;
  thaw(id: string): Promise<void>;
  /** Call it when the platform listens: the agents of machines report to it. */
  serve(): void;
}

const INSTANCE_BYTES = 13;

export function createStarts(deps: StartsDeps): MachineStarts {
  const { machines, driver, records, pendingStarts, restarts, mutex, signal, log } = deps;
  const serving = Promise.withResolvers<void>();

  /** `isAwaited`: a caller waits for the start and decides what follows when it fails. */
  async function boot(row: MachineRow, isAwaited: boolean): Promise<void> {
    const instance_id = row.booted || row.instance_id === '' ? randomHex(INSTANCE_BYTES) : row.instance_id;
    await records.move(row.id, 'start', { place: 'checkRunning', instance_id });
    const expected = pendingStarts.expect(row.id, instance_id, isAwaited);
    try {
      await driver.start(toMachineSpec({ ...row, instance_id }));
    } catch (error) {
      await deps.onExit(row.id, { exit_code: null, signal: null });
      expected.giveUp();
      throw error;
    }
    restarts.began(row.id);
    expected.follow();
  }

  /** A snapshot that cannot be used makes it a boot. */
  async function thawNow(row: MachineRow): Promise<void> {
    await records.move(row.id, 'start', { place: 'checkRunning' });
    const resumption = await driver.resume(toMachineSpec(row));
    if (resumption.outcome === 'resumed') await records.move(row.id, 'started');
    else await boot(row, true);
  }

  async function startNow(id: string): Promise<MachineStatus> {
    const row = await records.movableRow(id);
    switch (row.state) {
      case 'running':
        break;
      case 'suspending':
        deps.callOffFreeze(id);
        await records.move(id, 'start');
        break;
      case 'suspended':
      case 'starting':
        if (driver.state(id) === 'stopped') await boot(row, true);
        else if (driver.state(id) === 'suspended') await thawNow(row);
        // The driver has thawed it already; only the record of that is missing.
        else if (!pendingStarts.isExpected(id)) await records.move(id, 'started');
        break;
      case 'stopped':
        restarts.cancel(id);
        await boot(row, true);
        break;
      default:
        row.state satisfies never;
    }
    return row.state;
  }

  return {
    async start(id) {
      const before = await mutex.run(id, () => startNow(id));
      await pendingStarts.ready(id);
      return before;
    },
    startNow,
    async startAgain(id) {
      await serving.promise;
      try {
        await mutex.run(id, async () => {
          const row = await machines.find(id);
          if (signal.aborted || row?.state !== 'stopped' || row.wanted !== 'running') return;
          log.info({ machine: id, last_exit: row.last_exit }, 'a machine that ended is started again');
          await boot(row, false);
        });
        await pendingStarts.ready(id);
      } catch (error) {
        if (signal.aborted) return;
        log.error({ err: error, machine: id }, 'a machine could not be started again; the next try follows');
        if (driver.state(id) === 'stopped') restarts.schedule(id);
      }
    },
    thaw: (id) => mutex.run(id, async () => thawNow(await records.movableRow(id))),
    serve: serving.resolve,
  };
}
