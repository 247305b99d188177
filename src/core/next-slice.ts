// Lets long works go on one at a time: a hundred of them at once take a slice in each of a hundred turns of the event loop, and not all of
// them in one turn that is a hundred times as long.

const waiting: (() => void)[] = [];

/** Resolves in a later turn, in the order of the calls, and for one call in each turn. */
export function nextSlice(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(onTurn);
  });
}

function onTurn(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(onTurn);
}
