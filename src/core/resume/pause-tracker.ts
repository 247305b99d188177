// Tells whether the host held this machine still for a copy of its files, and did nothing else with it.
import type { PauseCounts } from './pause-counts.ts';

/** SIGCONT within this time after such a pause was seen is its end. */
const TOGETHER_MS = 2_000;

export interface PauseTracker {
  /** Reads the counts. True when since the last reading the machine was held still for copies alone, and not resumed. */
  look(mono_ms: number): boolean;
  /** Whether a look just now has found that, and none since then a resume. */
  isFresh(mono_ms: number): boolean;
}

/** A file of counts that is not there yet has none. */
export function createPauseTracker(read: () => PauseCounts | undefined): PauseTracker {
  let known = read() ?? { copies: 0, resumes: 0 };
  let held_mono_ms = Number.NEGATIVE_INFINITY;
  return {
    look(mono_ms) {
      const now = read();
      if (now === undefined) return false;
      // A count that fell was begun again, and what it was meanwhile is not known.
      const isResumed = now.resumes !== known.resumes || now.copies < known.copies;
      const isHeld = !isResumed && now.copies > known.copies;
      if (isResumed) held_mono_ms = Number.NEGATIVE_INFINITY;
      if (isHeld) held_mono_ms = mono_ms;
      known = now;
      return isHeld;
    },
    isFresh: (mono_ms) => mono_ms - held_mono_ms <= TOGETHER_MS,
  };
}
