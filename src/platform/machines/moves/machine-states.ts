// The states of a machine (Suspend and Replication, States and transitions) as one total table. Pure.
//
//   stopped ──start──▶ starting ──started──▶ running ──suspend──▶ suspending ──frozen──▶ suspended
//      ▲                  ▲                     ▲                   │                        │
//      │                  └─────────────────────┼──── start ────────┼────────────────────────┘
//      │                                        └── start, unfrozen ┘
//      └── stopped: from every state
import type { MachineStatus } from '../../../contract/machines.ts';

/**
 * `start` and `suspend` are requests; the others have happened. `unfrozen`: the freeze failed, the machine runs on. `stopped`:
 * the machine ended, on request or by itself.
 */
export type MachineEvent = 'start' | 'started' | 'suspend' | 'frozen' | 'unfrozen' | 'stopped';

const table: Readonly<Record<MachineStatus, Readonly<Record<MachineEvent, MachineStatus | undefined>>>> = {
  stopped: {
    start: 'starting',
    started: undefined,
    suspend: undefined,
    frozen: undefined,
    unfrozen: undefined,
    stopped: 'stopped',
  },
  starting: {
    start: 'starting',
    started: 'running',
    suspend: undefined,
    frozen: undefined,
    unfrozen: undefined,
    stopped: 'stopped',
  },
  running: {
    start: 'running',
    started: 'running',
    suspend: 'suspending',
    frozen: undefined,
    unfrozen: 'running',
    stopped: 'stopped',
  },
  suspending: {
    start: 'running',
    started: undefined,
    suspend: undefined,
    frozen: 'suspended',
    unfrozen: 'running',
    stopped: 'stopped',
  },
  suspended: {
    start: 'starting',
    started: undefined,
    suspend: undefined,
    frozen: 'suspended',
    unfrozen: 'running',
    stopped: 'stopped',
  },
};

/** The state after `event`; undefined where the event does not apply to the state. */
export function nextState(state: MachineStatus, event: MachineEvent): MachineStatus | undefined {
  return table[state][event];
}
