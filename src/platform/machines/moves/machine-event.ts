// The events of a move of a machine, as they are recorded with it. Pure.
import type { DiscardCause, MachineEvent, MachineEventType } from '../../../contract/machine-events.ts';
import type { MachineExit, MachineStatus } from '../../../contract/machines.ts';
import type { NewMachineEvent } from '../records/machine-history.ts';
import type { MachineRow } from '../records/machine-row.ts';
import type { Transition, Trigger } from './machine-states.ts';

export interface EventFields {
  readonly now_ms: number;
  /** Who moved the machine; by the trigger when absent. */
  readonly source?: MachineEvent['source'];
  readonly message?: string;
  /** The id of the new instance, for a move that boots. */
  readonly instance_id?: string;
}

/** None for a move that changes nothing. */
export function toMoveEvents(row: MachineRow, move: Transition, fields: EventFields): readonly NewMachineEvent[] {
  const { from, trigger, to, also } = move;
  const type = toType(move);
  if (to === undefined || type === undefined || (from === to && also.length === 0)) return [];
  const { now_ms: timestamp, source = sourceOf(trigger), message, instance_id = row.instance_id } = fields;
  const isLost = fields.instance_id !== undefined && from === 'suspended' && row.discarded === null;
  const cause = fields.instance_id === undefined ? undefined : isLost ? 'lost' : row.discarded;
  const event: NewMachineEvent = {
    type,
    status: to,
    source,
    timestamp,
    instance_id,
    ...(cause == null ? {} : { cause }),
    ...(message === undefined ? {} : { message }),
  };
  // The host that had the snapshot could not record it.
  const isMoved = cause === 'migrate' && row.host === null;
  return isLost || isMoved ? [toDiscard(row, from, timestamp, isLost ? 'lost' : 'migrate'), event] : [event];
}

export interface ExitFields {
  readonly now_ms: number;
  readonly exit: MachineExit & { readonly oom_killed?: boolean | undefined };
  /** Why the snapshot ended with the instance; undefined when there was none. */
  readonly lost: DiscardCause | undefined;
  readonly isGivenUp: boolean;
  /** The end of the machine's log, where it ended before its agent had reported. */
  readonly lines: readonly string[];
}

export function toExitEvents(row: MachineRow, status: MachineStatus, fields: ExitFields): readonly NewMachineEvent[] {
  const { now_ms: timestamp, lost, isGivenUp, lines } = fields;
  const { exit_code, signal, requested, oom_killed } = fields.exit;
  const shared = { status, timestamp, instance_id: row.instance_id } as const;
  const exit = { exit_code, signal, requested, ...(oom_killed === undefined ? {} : { oom_killed }) };
  const last = lines.length === 0 ? {} : { message: `the last lines of its log: ${lines.join(' | ')}` };
  const message = `it ended ${row.restart_count + 1} times in a row, and is not started again by itself`;
  return [
    { ...shared, type: 'exit', source: requested ? 'user' : 'machine', exit, ...last },
    ...(lost === undefined ? [] : [toDiscard(row, status, timestamp, lost)]),
    ...(isGivenUp ? [{ ...shared, type: 'fail', source: 'platform', message } as const] : []),
  ];
}

function toDiscard(row: MachineRow, status: MachineStatus, timestamp: number, cause: DiscardCause): NewMachineEvent {
  return { type: 'discard', status, source: 'platform', timestamp, instance_id: row.instance_id, cause };
}

function toType({ trigger, also }: Transition): MachineEventType | undefined {
  switch (trigger) {
    case 'start':
      return also.includes('boot') ? 'start' : also.includes('resume') ? 'resume' : 'suspend_cancelled';
    case 'suspend':
      return 'suspend';
    case 'frozen':
      return 'suspended';
    case 'unfrozen':
      return 'suspend_failed';
    case 'started':
      return 'started';
    case 'given_up':
      return 'fail';
    case 'destroy':
      return 'destroy';
    // Recorded when they are asked for, and with the exit.
    case 'stop':
    case 'discard':
    case 'ended':
      return undefined;
    default:
      return trigger satisfies never;
  }
}

function sourceOf(trigger: Trigger): MachineEvent['source'] {
  if (trigger === 'start' || trigger === 'suspend' || trigger === 'destroy') return 'user';
  return trigger === 'started' ? 'machine' : 'platform';
}
