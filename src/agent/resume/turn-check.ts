// One look for a turn of the event loop, however many calls pass the gate in it and then say who they are: a look reads files of the
// kernel, which would otherwise be a tenth of what a call costs. Between two calls of one turn nothing waits for the kernel, so the
// second is no later than a call that has just looked.

export interface TurnCheck {
  /** Looks unless it was done in this turn. */
  look(): void;
  /** Something was found: what follows waits for it, and looks again. */
  again(): void;
}

export function createTurnCheck(check: () => void): TurnCheck {
  let isDone = false;
  const forget = () => {
    isDone = false;
  };
  return {
    look() {
      if (isDone) return;
      isDone = true;
      setImmediate(forget);
      check();
    },
    again: forget,
  };
}
