// Maps a long list in several turns of the event loop.
import { createTurns } from './turns.ts';

/** `costOf`: about how much work an item is, as `Turns` counts it. A short list takes no turn of its own. */
export async function mapInTurns<T, R>(
  items: readonly T[],
  costOf: (item: T) => number,
  toResult: (item: T) => R,
): Promise<R[]> {
  const turns = createTurns();
  const results: R[] = [];
  for (const item of items) {
    results.push(toResult(item));
    const turn = turns.spend(costOf(item));
    if (turn !== undefined) await turn;
  }
  return results;
}
