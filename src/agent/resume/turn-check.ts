// One look for a call that passes the gate and then says who it is, both in one turn of the event loop: a look reads a file of the
// kernel, which would otherwise be a tenth of what a call costs.

export interface TurnCheck {
  /** Looks, whatever was done before. */
  now(): void;
  /** Looks unless it was done in this turn. */
  unlessDone(): void;
  /** Something was found: what follows waits for it, and looks again. */
  again(): void;
}

export function createTurnCheck(check: () => void): TurnCheck {
  let isDone = false;
  const forget = () => {
    isDone = false;
  };
  function now(): void {
    if (!isDone) setImmediate(forget);
    isDone = true;
    check();
  }
  return {
    now,
    again: forget,
    unlessDone() {
      if (!isDone) now();
    },
  };
}
