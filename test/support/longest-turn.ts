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
