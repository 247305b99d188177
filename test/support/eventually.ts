// Waiting for a condition that has no event of its own.
import { setTimeout as sleep } from 'node:timers/promises';

/** The first value that is neither undefined nor false. Throws after `limit_ms`. */
export async function eventually<T>(
  look: () => T | undefined | false | Promise<T | undefined | false>,
  limit_ms = 60_000,
): Promise<T> {
  const end = performance.now() + limit_ms;
  for (;;) {
    const value = await look();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > end) throw new Error(`nothing within ${limit_ms} ms: ${look.toString()}`);
    await sleep(10);
  }
}
