// Work on bytes that are not worth the time which they take: one piece of it in each turn of the event loop, over all connections.

const waiting: (() => void)[] = [];

/** Calls `run` in a later turn, after what was given before. */
export function inOwnTurn(run: () => void): void {
  if (waiting.length === 0) setImmediate(next);
  waiting.push(run);
}

function next(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(next);
}
