// Polls the process table, of whose changes nobody is notified.
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;

/** Polls until `condition` holds; the first check is at once. False when it did not hold in time. */
export async function until(deadline_ms: number, condition: () => boolean): Promise<boolean> {
  const end = performance.now() + deadline_ms;
  for (;;) {
    if (condition()) return true;
    if (performance.now() >= end) return false;
    await sleep(POLL_MS);
  }
}
