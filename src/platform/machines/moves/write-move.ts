// Writes one move of a machine in the transaction that it is given: the state, what was asked for, the instance that begins, and the events.
import type { MachineStatus } from '../../../contract/machines.ts';
import { RemoraError } from '../../../core/remora-error.ts';
import { createIncarnationStore } from '../../fencing/incarnation-store.ts';
import type { Sql } from '../../storage/storage.ts';
import { createMachineHistory } from '../records/machine-history.ts';
import { createMachineLimits } from '../records/machine-limits.ts';
import type { MachineRow, WantedState } from '../records/machine-row.ts';
import { createMachineStore } from '../records/machine-store.ts';
import { type EventFields, toMoveEvents } from './machine-event.ts';
import type { Transition, Trigger } from './machine-states.ts';

/** What else is checked and written in the transaction of a move. */
export interface MoveOptions extends Pick<EventFields, 'message' | 'source'> {
  readonly place?: 'checkRunning' | 'checkWarm';
  /** The id of the new instance, for a move that boots. The known incarnation of the machine is forgotten. */
  readonly instance_id?: string;
  /** How often it was started again in a row, with this boot. */
  readonly restarts?: number;
}

export interface WrittenMove {
  readonly row: MachineRow;
  readonly to: MachineStatus;
  readonly move: Transition;
  readonly options: MoveOptions;
  /** The id of this platform process. */
  readonly host: string;
  readonly now_ms: number;
}

/** What a trigger asks for, stored with its move. */
const intentOf: Partial<Readonly<Record<Trigger, WantedState>>> = {
  start: 'running',
  suspend: 'suspended',
  frozen: 'suspended',
  unfrozen: 'running',
};

/** False when the machine is no longer in the state of the row. Throws what the limits throw, and `other_host`. */
export async function writeMove(sql: Sql, { row, to, move, options, host, now_ms }: WrittenMove): Promise<boolean> {
  const { place, instance_id, restarts = 0 } = options;
  if (place !== undefined) await createMachineLimits(sql)[place](row);
  const machines = createMachineStore(sql);
  if (!(await machines.move(row.id, row.state, to, now_ms))) return false;
  const wanted = intentOf[move.trigger];
  if (wanted !== undefined && wanted !== row.wanted) await machines.want(row.id, wanted);
  const history = createMachineHistory(sql);
  if (instance_id !== undefined) {
    // A machine belongs to the host of its first boot, which makes its disk.
    if (!(await machines.claim(row.id, host))) throw toOtherHost(row);
    await machines.setInstance(row.id, instance_id);
    if (row.state === 'suspended' && row.discarded === null) await history.discard(row.id, 'lost');
    await history.begin(row.id, restarts, now_ms);
    await createIncarnationStore(sql).forget(row.sprite_id);
  }
  if (move.trigger === 'frozen') await history.keep(row.id);
  await history.addMove(row.id, toMoveEvents(row, move, { ...options, now_ms }), row.state);
  return true;
}

export function toOtherHost({ host }: MachineRow): RemoraError {
  const message = 'another platform process runs this machine, and only that one can move it; call that one';
  return new RemoraError('other_host', message, { details: { host } });
}
