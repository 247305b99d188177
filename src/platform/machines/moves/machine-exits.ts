// The end of an instance: records how the machine ended, and starts it again where its restart policy says so.
import { setTimeout as sleep } from 'node:timers/promises';
import type { MachineExit } from '../../../contract/machines.ts';
import { type Clock, toDateTime } from '../../../core/clock.ts';
import type { Log } from '../../../core/log.ts';
import { StorageFailure } from '../../storage/storage.ts';
import type { InstanceEnd, MachineDriver } from '../drivers/machine-driver.ts';
import { judgeRestart } from '../records/judge-restart.ts';
import type { MachineRow } from '../records/machine-store.ts';
import { toRestartPolicy } from '../records/machine-views.ts';
import type { MachineRecords } from './machine-records.ts';

export interface ExitsOptions {
  readonly driver: Pick<MachineDriver, 'state'>;
  readonly records: Pick<MachineRecords, 'end'>;
  readonly clock: Clock;
  /** Whether the end was requested. */
  readonly isRequested: (id: string) => boolean;
  /** Whether it was requested for a boot that follows: the machine is to run then. */
  readonly isRebooting: (id: string) => boolean;
  /** Whether a caller waits for the start of the machine; that caller then decides what follows a failure. */
  readonly isAwaited: (id: string) => boolean;
  /** Runs when the machine is to be started again. */
  readonly onRestart: (id: string) => void;
  readonly signal: AbortSignal;
  readonly log: Log;
}

const RETRY_MS = 1_000;

/** An end that cannot be recorded now is recorded later; the driver does not wait for it. */
export function createExits(options: ExitsOptions): (id: string, end: InstanceEnd) => Promise<void> {
  const { driver, records, clock, signal } = options;

  async function record(id: string, exit: MachineExit, isRebooting: boolean): Promise<void> {
    if (driver.state(id) !== 'stopped') return;
    const isAwaited = options.isAwaited(id);
    // A machine that is recorded as running has reported: its start is over, also where the caller has not been answered yet.
    const mayRestart = ({ state, config }: MachineRow) =>
      !exit.requested &&
      (state === 'running' || (state === 'starting' && !isAwaited)) &&
      judgeRestart(toRestartPolicy(config), exit);
    const toWanted = (before: MachineRow) => (isRebooting || mayRestart(before) ? 'running' : 'stopped');
    const row = await records.end(id, exit, toWanted);
    if (row !== undefined && mayRestart(row)) options.onRestart(id);
  }

  async function recordLater(id: string, exit: MachineExit, isRebooting: boolean): Promise<void> {
    try {
      for (;;) {
        await sleep(RETRY_MS, undefined, { signal });
        try {
          return await record(id, exit, isRebooting);
        } catch (error) {
          if (!(error instanceof StorageFailure)) throw error;
        }
      }
    } catch (error) {
      options.log.error({ err: error, machine: id }, 'the end of a machine could not be recorded');
    }
  }

  return async (id, end) => {
    const exit = { ...end, requested: options.isRequested(id), at: toDateTime(clock.wall_ms()) };
    const isRebooting = options.isRebooting(id);
    try {
      await record(id, exit, isRebooting);
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
      void recordLater(id, exit, isRebooting);
    }
  };
}
