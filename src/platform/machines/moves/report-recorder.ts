// Records the first report of an agent: the machine that was starting runs, and so does one that is run outside the platform.
import type { Clock } from '../../../core/clock.ts';
import type { Storage } from '../../storage/storage.ts';
import { createMachineHistory } from '../records/machine-history.ts';
import type { MachineRow } from '../records/machine-row.ts';
import { createMachineStore, type MachineStore } from '../records/machine-store.ts';
import { toMoveEvents } from './machine-event.ts';
import type { OnMove } from './machine-move.ts';
import { findTransition, type Transition } from './machine-states.ts';
import type { PendingStarts } from './pending-starts.ts';
import type { Waiters } from './state-waiters.ts';

export interface ReportRecorderDeps {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly machines: Pick<MachineStore, 'find'>;
  readonly onEvent: (machine_id: string) => void;
  readonly pendingStarts: Pick<PendingStarts, 'reported'>;
  readonly waiters: Pick<Waiters, 'settle'>;
  readonly onMove: OnMove;
  readonly clock: Clock;
}

/** Returns the function to call after each report of an agent to this platform process. It does nothing for a machine that runs already. */
export function createReportRecorder(deps: ReportRecorderDeps): (id: string) => Promise<void> {
  const { machines, clock } = deps;

  /** False when the machine is no longer in the state of the row. */
  async function write(row: MachineRow, move: Transition): Promise<boolean> {
    const now_ms = clock.wall_ms();
    return await deps.storage.transaction(async (sql) => {
      if (!(await createMachineStore(sql).move(row.id, row.state, 'running', now_ms))) return false;
      await createMachineHistory(sql).addMove(row.id, toMoveEvents(row, move, { now_ms }), row.state);
      return true;
    });
  }

  return async (id) => {
    const row = await machines.find(id);
    if (row === undefined || row.state === 'running') return;
    const facts = { driver: 'running', isDiscarded: false, isEligible: true, isRequested: false } as const;
    const move = findTransition(row.state, 'started', { ...facts, isExternal: row.config.external === true });
    if (move.to === undefined || !(await write(row, move))) return;
    deps.pendingStarts.reported(id, row.instance_id);
    await deps.onMove({ machine_id: id, sprite_id: row.sprite_id, state: 'running', at_ms: clock.wall_ms() });
    deps.onEvent(id);
    deps.waiters.settle(id, { state: 'running', instance_id: row.instance_id });
  };
}
