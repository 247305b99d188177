// Runs many queries a few at a time, with a turn of the event loop between, so that calls do not wait for all of them.
import { nextSlice } from './next-slice.ts';

const AT_ONCE = 64;

/** Resolves with the results of `work` in the order of the items. */
export async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    if (from > 0) await nextSlice();
    done.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return done;
}
