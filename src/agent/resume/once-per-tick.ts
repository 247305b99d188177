// Looks for a resume once in a turn of the event loop, however many calls pass the gate in it. A look reads files of the kernel,
// which would otherwise be a tenth of the cost of a call.

export interface OncePerTick {
  /** Looks, unless this turn has looked already. */
  run(): void;
  /** Lets the next `run` look again, because a look has found something. */
  reset(): void;
}

export function createOncePerTick(check: () => void): OncePerTick {
  let isDone = false;
  const forget = () => {
    isDone = false;
  };
  return {
    run() {
      if (isDone) return;
      isDone = true;
      setImmediate(forget);
      check();
    },
    reset: forget,
  };
}
