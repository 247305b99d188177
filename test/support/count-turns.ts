// Counts the turns of the event loop, for tests of how much is done in each.
import { onTestFinished } from 'vitest';

/** Returns the number of the current turn. Counting ends with the test. */
export function countTurns(): () => number {
  let turns = 0;
  let next = setImmediate(count);
  function count() {
    turns += 1;
    next = setImmediate(count);
  }
  onTestFinished(() => clearImmediate(next));
  return () => turns;
}

/** Call `step` for each piece of work; `perTurn` is how many there were in each turn that had any. */
export function countSteps() {
  const turnOf = countTurns();
  const counts = new Map<number, number>();
  return {
    step: () => void counts.set(turnOf(), (counts.get(turnOf()) ?? 0) + 1),
    perTurn: () => [...counts.values()],
  };
}
