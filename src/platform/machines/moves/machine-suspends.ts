// Suspends of machines: accepted at once, and frozen after a delay, so that the answer to the caller is sent first.

import { toErrorMessage } from '../../../core/error-message.ts';
import type { KeyedMutex } from '../../../core/keyed-mutex.ts';
import type { Log } from '../../../core/log.ts';
import { judgeEligibility } from '../../../core/machine/suspend-eligibility.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import type { MachineDriver } from '../drivers/machine-driver.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { MachineStore } from '../records/machine-store.ts';
import { toMachineFacts } from '../records/machine-views.ts';
import type { MachineRecords } from './machine-records.ts';
import { createFreezes } from './pending-freezes.ts';
import type { SnapshotUses } from './snapshot-uses.ts';
import type { Waiters } from './state-waiters.ts';

export interface SuspendsDeps {
  readonly machines: Pick<MachineStore, 'find'>;
  readonly driver: Pick<MachineDriver, 'suspend' | 'state'>;
  readonly records: Pick<MachineRecords, 'movableRow' | 'move'>;
  readonly snapshots: Pick<SnapshotUses, 'resume'>;
  readonly waiters: Pick<Waiters, 'failSuspend'>;
  readonly mutex: KeyedMutex;
  readonly delay_ms: number;
  readonly isStopping: (id: string) => boolean;
  readonly log: Pick<Log, 'error'>;
}

export interface MachineSuspends extends Disposable {
  /** See `MachineService.suspend`. */
  suspend(id: string): Promise<void>;
  /** Freezes a machine that is suspending; the caller has its turn. A machine that cannot be frozen runs on. */
  freezeNow(id: string): Promise<void>;
  /** Cancels the freeze of a machine. False when none is pending. */
  callOff(id: string): boolean;
}

export function createSuspends(deps: SuspendsDeps): MachineSuspends {
  const { machines, driver, records, log } = deps;
  const freezes = createFreezes(deps.delay_ms, freeze);

  async function freeze(id: string): Promise<void> {
    try {
      await deps.mutex.run(id, async () => {
        if (freezes.callOff(id) && (await machines.find(id))?.state === 'suspending') await freezeNow(id);
      });
    } catch (error) {
      log.error({ err: error, machine: id }, 'a suspend could not be recorded');
    }
  }

  async function freezeNow(id: string): Promise<void> {
    try {
      await driver.suspend(id);
      await records.move(id, 'frozen');
    } catch (error) {
      if (driver.state(id) === 'stopped') return;
      // The record could not be written: the machine runs on.
      const row = await machines.find(id);
      if (driver.state(id) === 'suspended' && row !== undefined && !(await deps.snapshots.resume(row))) return;
      const message = toErrorMessage(error);
      await records.move(id, 'unfrozen', { message });
      deps.waiters.failSuspend(id, message);
      log.error({ err: error, machine: id }, 'a machine could not be frozen; it runs on');
    }
  }

  return {
    async suspend(id) {
      const row = await records.movableRow(id);
      if (deps.isStopping(id)) throw new RemoraError('invalid_state', 'the machine is being stopped');
      checkEligible(row);
      if ((await records.move(id, 'suspend', { place: 'checkWarm' })) === undefined) {
        throw new RemoraError('invalid_state', `the machine is ${row.state}; only a running machine can be suspended`, {
          details: { state: row.state },
        });
      }
      freezes.schedule(id);
    },
    freezeNow,
    callOff: freezes.callOff,
    [Symbol.dispose]: () => freezes[Symbol.dispose](),
  };
}

/** Throws `not_eligible` with every condition for a running machine that fails one. */
function checkEligible(row: MachineRow): void {
  const { eligible, conditions } = judgeEligibility(toMachineFacts(row));
  if (row.state !== 'running' || eligible) return;
  const failing = conditions.filter((condition) => condition.verdict === 'fails');
  const message = failing.map((condition) => condition.message).join('; ');
  throw new RemoraError('not_eligible', message, { details: { conditions } });
}
