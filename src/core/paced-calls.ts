// Makes many calls in their order, and no more of them in one turn of the event loop than others can wait for.
import { nextSlice } from './next-slice.ts';

interface Paced {
  readonly cost: number;
  readonly call: () => void;
}

export interface PacedCalls {
  /** Makes the call now while the turn may go on, else in a later turn. `cost` is positive, and the call must not throw. */
  add(cost: number, call: () => void): void;
  /** Resolves when none waits; undefined when none does. */
  done(): Promise<void> | undefined;
}

/** `turn_cost` is how much one turn may cost, in the unit of `add`; the call that exceeds it is the last one of its turn. */
export function createPacedCalls(turn_cost: number): PacedCalls {
  let waiting: Paced[] = [];
  let spent = 0;
  let isRunning = false;
  let emptied: PromiseWithResolvers<void> | undefined;

  function make({ cost, call }: Paced): void {
    spent += cost;
    call();
  }

  /** Gives each turn a new budget, until one spends nothing. */
  async function run(): Promise<void> {
    isRunning = true;
    do {
      // Work that waits takes its turn among other works; a new budget alone must not keep them waiting.
      await (waiting.length > 0 ? nextSlice() : nextTurn());
      spent = 0;
      let made = 0;
      for (let next = waiting[made]; next !== undefined && spent < turn_cost; next = waiting[made]) {
        made += 1;
        make(next);
      }
      waiting = waiting.slice(made);
      if (waiting.length > 0) continue;
      emptied?.resolve();
      emptied = undefined;
    } while (spent > 0);
    isRunning = false;
  }

  return {
    add(cost, call) {
      if (!isRunning) void run();
      const paced = { cost, call };
      if (waiting.length > 0 || spent >= turn_cost) waiting.push(paced);
      else make(paced);
    },
    done() {
      if (waiting.length === 0) return undefined;
      emptied ??= Promise.withResolvers();
      return emptied.promise;
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
