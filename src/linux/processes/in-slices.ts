// Long work for many items, which leaves turns of the event loop for everything else.
import { setImmediate as nextTurn } from 'node:timers/promises';

/** What one slice may take: several that meet in one turn still hold it for less than 20 ms. */
const SLICE_MS = 2;

/** Calls `act` for each item in order, and lets the event loop go on whenever that has taken `slice_ms`. */
export async function inSlices<T>(items: Iterable<T>, act: (item: T) => void, slice_ms = SLICE_MS): Promise<void> {
  let begun_ms = performance.now();
  for (const item of items) {
    if (performance.now() - begun_ms >= slice_ms) {
      await nextTurn();
      begun_ms = performance.now();
    }
    act(item);
  }
}
