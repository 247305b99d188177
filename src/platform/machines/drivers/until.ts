// Polls the process table, of whose changes nobody is notified.
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 20;
/** This share of the looks for which there is time is made at least: this process may be the one that stood still. */
const LOOKS_SHARE = 0.25;

/**
 * Polls until `condition` holds; the first check is at once. False when it did not hold in time: `deadline_ms` is longer where this process
 * gets so little of the processor that it could not look often enough.
 */
export async function until(deadline_ms: number, condition: () => boolean | Promise<boolean>): Promise<boolean> {
  const end = performance.now() + deadline_ms;
  for (let left = (deadline_ms / POLL_MS) * LOOKS_SHARE; ; left -= 1) {
    if (await condition()) return true;
    if (performance.now() >= end && left <= 1) return false;
    await sleep(POLL_MS);
  }
}
