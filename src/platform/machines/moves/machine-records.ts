// Records the moves of machines: writes one state at a time, checks conditions in the same transaction, and notifies waiters.
import type { MachineExit, MachineStatus } from '../../../contract/machines.ts';
import type { Clock } from '../../../core/clock.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createIncarnationStore } from '../../fencing/incarnation-store.ts';
import { endPorts } from '../../port-notices/end-ports.ts';
import type { Storage } from '../../storage/storage.ts';
import { createMachineLimits } from '../records/machine-limits.ts';
import { createMachineStore, type MachineRow, type MachineStore, type WantedState } from '../records/machine-store.ts';
import type { OnMove } from './machine-move.ts';
import { type MachineEvent, nextState } from './machine-states.ts';
import type { Waiters } from './state-waiters.ts';

export interface MachineRecordsDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly host: string;
  readonly machines: MachineStore;
  readonly onMove: OnMove;
  readonly waiters: Pick<Waiters, 'settle'>;
  readonly clock: Clock;
}

/** What else is checked and written in the transaction of a move. */
export interface MoveOptions {
  readonly place?: 'checkRunning' | 'checkWarm';
  /** The id of the new instance, for a move that boots. The known incarnation of the machine is forgotten. */
  readonly instance_id?: string;
}

export interface MachineRecords {
  /** Reads a machine of this host. Throws `not_found`, and `other_host` for a machine of another platform process. */
  ownRow(id: string): Promise<MachineRow>;
  /** Reads a machine of this host that the platform moves. Throws what `ownRow` throws, and `external_machine` for one that is run elsewhere. */
  movableRow(id: string): Promise<MachineRow>;
  /** Records one move. Undefined when the event does not apply to the state. Throws what `ownRow` and the limits throw. */
  move(id: string, event: MachineEvent, options?: MoveOptions): Promise<MachineStatus | undefined>;
  /** Records a state that was found. Does nothing when the machine is no longer in the state of the row. */
  correct(row: MachineRow, state: MachineStatus): Promise<void>;
  /** Records in one transaction that the machine ended, that its ports are closed, and the state that is wanted now. Resolves with the row
   * before; undefined when the machine is gone. */
  end(id: string, exit: MachineExit, wanted: (row: MachineRow) => WantedState): Promise<MachineRow | undefined>;
}

export function createMachineRecords(deps: MachineRecordsDeps): MachineRecords {
  const { storage, host, machines, clock } = deps;

  async function ownRow(id: string): Promise<MachineRow> {
    const row = await machines.find(id);
    if (row === undefined) throw new RemoraError('not_found', 'there is no such machine');
    if (row.host === null || row.host === host) return row;
    throw toOtherHost(row);
  }

  /** False when the machine is no longer in the state of the row. */
  async function write(row: MachineRow, to: MachineStatus, { place, instance_id }: MoveOptions): Promise<boolean> {
    if (place === undefined) return await machines.move(row.id, row.state, to, clock.wall_ms());
    return await storage.transaction(async (sql) => {
      await createMachineLimits(sql)[place](row);
      const inside = createMachineStore(sql);
      if (!(await inside.move(row.id, row.state, to, clock.wall_ms()))) return false;
      if (instance_id === undefined) return true;
      // A machine belongs to the host of its first boot, which makes its disk.
      if (!(await inside.claim(row.id, host))) throw toOtherHost(row);
      await inside.setInstance(row.id, instance_id);
      await inside.want(row.id, 'running');
      await createIncarnationStore(sql).forget(row.sprite_id);
      return true;
    }, `places of ${row.organization_id}`);
  }

  async function notifyMoved(row: MachineRow, state: MachineStatus, instance_id = row.instance_id): Promise<void> {
    await deps.onMove({ sprite_id: row.sprite_id, state, at_ms: clock.wall_ms() });
    deps.waiters.settle(row.id, { state, instance_id });
  }

  return {
    ownRow,
    async movableRow(id) {
      const row = await ownRow(id);
      if (row.config.external !== true) return row;
      throw new RemoraError(
        'external_machine',
        'this machine is run elsewhere; start, suspend and stop it where it runs',
      );
    },
    async move(id, event, options = {}) {
      for (;;) {
        const row = await ownRow(id);
        const state = nextState(row.state, event);
        if (state === undefined) return undefined;
        if (!(await write(row, state, options))) continue;
        await notifyMoved(row, state, options.instance_id);
        return state;
      }
    },
    async correct(row, state) {
      if (row.state === state || !(await machines.move(row.id, row.state, state, clock.wall_ms()))) return;
      await notifyMoved(row, state);
    },
    async end(id, exit, wanted) {
      const before = await storage.transaction(async (sql) => {
        const inside = createMachineStore(sql);
        const row = await inside.find(id);
        if (row === undefined) return undefined;
        await inside.end(id, exit, wanted(row), clock.wall_ms());
        await endPorts(sql, row.sprite_id, row.instance_id, clock.wall_ms());
        return row;
      });
      if (before !== undefined) await notifyMoved(before, 'stopped');
      return before;
    },
  };
}

function toOtherHost({ host }: MachineRow): RemoraError {
  const message = 'another platform process runs this machine, and only that one can move it; call that one';
  return new RemoraError('other_host', message, { details: { host } });
}
