// Asking the database about many things without asking all at once, so that those who serve calls are not behind them in a queue.

const AT_ONCE = 64;

/** What `work` resolves with for each item, in their order. */
export async function inBatches<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const done: R[] = [];
  for (let from = 0; from < items.length; from += AT_ONCE) {
    done.push(...(await Promise.all(items.slice(from, from + AT_ONCE).map(work))));
  }
  return done;
}
