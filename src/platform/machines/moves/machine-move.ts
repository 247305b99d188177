// The notice of one move of a machine, for code that keeps something by the state of the machine: the record of its sprite keeps
// when it last ran.
import type { MachineStatus } from '../../../contract/machines.ts';

export interface MachineMove {
  readonly machine_id: string;
  readonly sprite_id: string;
  /** The state that the machine has reached. */
  readonly state: MachineStatus;
  /** Wall clock. */
  readonly at_ms: number;
}

/** Runs after the move is recorded and before anyone who waits for the state is answered. */
export type OnMove = (move: MachineMove) => Promise<void>;
