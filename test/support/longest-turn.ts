// How long the turns of the event loop are, in processor time of this thread: what other processes do meanwhile does not count.
import { onTestFinished } from 'vitest';

/** A look at every turn would keep the processor busy all the time: turns that are shorter than this count together. */
const LOOK_MS = 1;

/** Begins to watch. Returns the longest turn since then, in milliseconds. Watching ends with the test. */
export function watchTurns(): () => number {
  let longest_us = 0;
  let last_us = now_us();
  let next = setTimeout(look, LOOK_MS);
  function look() {
    const now = now_us();
    longest_us = Math.max(longest_us, now - last_us);
    last_us = now;
    next = setTimeout(look, LOOK_MS);
  }
  onTestFinished(() => clearTimeout(next));
  return () => longest_us / 1_000;
}

function now_us(): number {
  // Linux brings the time of the running thread up to date only when the whole process is asked for its own.
  process.cpuUsage();
  const { user, system } = process.threadCpuUsage();
  return user + system;
}

const RUNS = 5;

/**
 * Watches while `act` runs, again while a turn was longer than `enough_ms`, and returns the longest turn of the best run: collecting the garbage
 * of earlier tests of the process also counts for one of them, and not for all.
 */
export async function findLongestTurn_ms(enough_ms: number, act: () => Promise<unknown>): Promise<number> {
  let least_ms = Number.POSITIVE_INFINITY;
  for (let run = 0; run < RUNS && least_ms > enough_ms; run += 1) {
    const longest_ms = watchTurns();
    await act();
    least_ms = Math.min(least_ms, longest_ms());
  }
  return least_ms;
}
