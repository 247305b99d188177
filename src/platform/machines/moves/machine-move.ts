// One move of a machine, as those hear of it who keep something that depends on its state.
import type { MachineStatus } from '../../../contract/machines.ts';

export interface MachineMove {
  readonly sprite_id: string;
  /** The state that the machine has reached. */
  readonly state: MachineStatus;
  /** Wall clock. */
  readonly at_ms: number;
}

/** Runs after the move is recorded and before anyone who waits for the state is answered. */
export type OnMove = (move: MachineMove) => Promise<void>;
