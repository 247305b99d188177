// Divides long work into turns of the event loop, so that others run in between. Work is counted and not timed: the same work takes
// the same turns on any machine.
import { nextSlice } from './next-slice.ts';

/** The work of about a millisecond on most machines, where one is the work on one character of text. */
const TURN_COST = 32 * 1024;

export interface Turns {
  /** Counts work that was done. Undefined while the turn may go on; otherwise resolves in the next one. */
  spend(cost: number): Promise<void> | undefined;
}

/** `onTurn` runs at the begin of each turn but the first. */
export function createTurns(onTurn?: () => void): Turns {
  let spent = 0;

  async function begin(): Promise<void> {
    spent = 0;
    await nextSlice();
    onTurn?.();
  }

  return {
    spend(cost) {
      spent += cost;
      return spent < TURN_COST ? undefined : begin();
    },
  };
}
