// The states of a machine (Suspend and Replication, States and transitions) as one total table. Pure.
//
//   created ─┐                    ┌──────── started ────────┐
//   stopped ─┼──start──▶ starting ┘──▶ running ──suspend──▶ suspending ──frozen──▶ suspended
//   failed ──┘              ▲             ▲                    │                       │
//                           │             └─ start, unfrozen ──┘                       │
//                           └────────────────────── start ─────────────────────────────┘
//   ended: to stopped, but a snapshot that ends leaves suspended; given_up: stopped to failed; destroy: from every state.
import type { MachineStatus } from '../../../contract/machines.ts';
import type { DriverState } from '../drivers/machine-driver.ts';

/**
 * `start`, `suspend`, `stop`, `discard` and `destroy` are requests; the others have happened. `started`: its agent has reported, or its
 * snapshot goes on. `frozen`: its memory is saved, or is still. `unfrozen`: the freeze failed, or was called off for an end that failed; the
 * machine runs on. `ended`: nothing of the instance runs any more. `given_up`: it is not started again by itself.
 */
export const triggers = [
  'start',
  'suspend',
  'stop',
  'discard',
  'destroy',
  'started',
  'frozen',
  'unfrozen',
  'ended',
  'given_up',
] as const;
export type Trigger = (typeof triggers)[number];

/** What a condition looks at. */
export interface Facts {
  /** What the driver has of the machine. */
  readonly driver: DriverState;
  /** The snapshot was thrown away. */
  readonly isDiscarded: boolean;
  /** Whether it may be suspended (Suspend and Replication, Suspend eligibility). */
  readonly isEligible: boolean;
  /** A stop was asked for. */
  readonly isRequested: boolean;
  /** The machine is run outside the platform. */
  readonly isExternal: boolean;
}

export const conditions = {
  always: () => true,
  'the machine is eligible': ({ isEligible }) => isEligible,
  'the machine is not eligible': ({ isEligible }) => !isEligible,
  'the snapshot is valid': ({ driver, isDiscarded }) => driver === 'suspended' && !isDiscarded,
  'the snapshot was discarded': ({ driver, isDiscarded }) =>
    driver === 'stopped' || (driver === 'suspended' && isDiscarded),
  'the instance runs': ({ driver }) => driver === 'running',
  'the instance is frozen': ({ driver }) => driver === 'suspended',
  'nothing of it runs': ({ driver }) => driver === 'stopped',
  'it was asked for': ({ isRequested }) => isRequested,
  'nobody asked for it': ({ isRequested }) => !isRequested,
  'it is run elsewhere': ({ isExternal }) => isExternal,
  'it is run here': ({ isExternal }) => !isExternal,
} as const satisfies Readonly<Record<string, (facts: Facts) => boolean>>;
export type Condition = keyof typeof conditions;

/** What the driver does beside the move, in this order. */
export type Effect =
  | 'boot'
  | 'resume'
  | 'await the report'
  | 'cancel the freeze'
  | 'freeze'
  | 'end the instance'
  | 'drop the snapshot'
  | 'restart by policy'
  | 'delete the record';

/** `to` is undefined where the trigger is refused, or comes too late to mean anything. */
export interface Transition {
  readonly from: MachineStatus;
  readonly trigger: Trigger;
  readonly condition: Condition;
  readonly to: MachineStatus | undefined;
  readonly also: readonly Effect[];
}

/** `=` stands for the state before. */
type To = MachineStatus | '=' | undefined;

function rows(
  from: readonly MachineStatus[],
  trigger: Trigger,
  condition: Condition,
  to: To,
  ...also: readonly Effect[]
): readonly Transition[] {
  return from.map((state) => ({ from: state, trigger, condition, to: to === '=' ? state : to, also }));
}

const idle = ['created', 'stopped', 'failed'] as const;
const awake = ['starting', 'running', 'suspending'] as const;

export const transitions: readonly Transition[] = [
  ...rows(idle, 'start', 'always', 'starting', 'boot'),
  ...rows(['starting'], 'start', 'the instance runs', '=', 'await the report'),
  ...rows(['starting'], 'start', 'the instance is frozen', '=', 'resume'),
  ...rows(['starting'], 'start', 'nothing of it runs', '=', 'boot'),
  ...rows(['running'], 'start', 'always', '='),
  ...rows(['suspending'], 'start', 'always', 'running', 'cancel the freeze'),
  ...rows(['suspended'], 'start', 'the snapshot is valid', 'starting', 'resume'),
  ...rows(['suspended'], 'start', 'the snapshot was discarded', 'starting', 'boot'),
  ...rows(['suspended'], 'start', 'the instance runs', 'running'),
  ...rows(['destroyed'], 'start', 'always', undefined),

  ...rows(['running'], 'suspend', 'the machine is eligible', 'suspending', 'freeze'),
  ...rows(['running'], 'suspend', 'the machine is not eligible', undefined),
  ...rows([...idle, 'starting', 'suspending', 'suspended', 'destroyed'], 'suspend', 'always', undefined),

  ...rows(['created'], 'stop', 'always', '='),
  ...rows(['stopped', 'failed'], 'stop', 'always', 'stopped'),
  ...rows(awake, 'stop', 'always', 'stopped', 'end the instance'),
  ...rows(['suspended'], 'stop', 'always', 'stopped', 'drop the snapshot', 'end the instance'),
  ...rows(['destroyed'], 'stop', 'always', undefined),

  ...rows(['suspended'], 'discard', 'always', '=', 'drop the snapshot'),
  ...rows(['starting'], 'discard', 'nothing of it runs', '='),
  ...rows(['starting'], 'discard', 'the instance is frozen', '=', 'drop the snapshot'),
  ...rows(['starting'], 'discard', 'the instance runs', undefined),
  ...rows([...idle, 'running', 'suspending', 'destroyed'], 'discard', 'always', undefined),

  ...rows([...idle, ...awake, 'suspended'], 'destroy', 'always', 'destroyed', 'end the instance', 'delete the record'),
  ...rows(['destroyed'], 'destroy', 'always', undefined),

  ...rows(['starting', 'running'], 'started', 'always', 'running'),
  ...rows(idle, 'started', 'it is run elsewhere', 'running'),
  ...rows(idle, 'started', 'it is run here', undefined),
  ...rows(['suspending', 'suspended', 'destroyed'], 'started', 'always', undefined),

  // A machine that is `starting` could not go on from its snapshot, which is as it was.
  ...rows(['starting', 'suspending', 'suspended'], 'frozen', 'always', 'suspended'),
  ...rows([...idle, 'running', 'destroyed'], 'frozen', 'always', undefined),

  ...rows(['running', 'suspending', 'suspended'], 'unfrozen', 'always', 'running'),
  ...rows([...idle, 'starting', 'destroyed'], 'unfrozen', 'always', undefined),

  ...rows(['starting', 'running'], 'ended', 'it was asked for', 'stopped'),
  ...rows(['starting', 'running'], 'ended', 'nobody asked for it', 'stopped', 'restart by policy'),
  // The suspend was asked for, so nothing starts it: it is as if it slept, without its memory.
  ...rows(['suspending'], 'ended', 'always', 'stopped'),
  ...rows(['suspended'], 'ended', 'it was asked for', 'stopped'),
  ...rows(['suspended'], 'ended', 'nobody asked for it', '='),
  ...rows(idle, 'ended', 'always', '='),
  ...rows(['destroyed'], 'ended', 'always', undefined),

  ...rows(['stopped', 'starting', 'running'], 'given_up', 'always', 'failed'),
  ...rows(['created', 'suspending', 'suspended', 'failed', 'destroyed'], 'given_up', 'always', undefined),
];

/** The one row that applies. */
export function findTransition(from: MachineStatus, trigger: Trigger, facts: Facts): Transition {
  const row = transitions.find(
    (each) => each.from === from && each.trigger === trigger && conditions[each.condition](facts),
  );
  if (row === undefined) throw new Error(`the table of states has no row for ${trigger} in ${from}`);
  return row;
}
