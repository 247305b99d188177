// Counts how often the VM was restored since the last look, by the interrupts that tell a guest of a new generation of its VM. The
// last counts are kept in memory, and so in a snapshot: a machine that is restored from it twice counts one restore each time.
import type { GenerationCounts } from './resume-sources.ts';

export interface Raise {
  readonly restores: number;
  /** Run time of the reading that this one is compared with. */
  readonly from_mono_ms: number;
}

export interface GenerationTracker {
  /**
   * Restores since the last reading, undefined for none. Several lines may fire for one restore, so that the line that moved
   * most counts. A count that went back, or a new line, is a new baseline; a line that was unreadable for a while is compared
   * with its last reading.
   */
  advance(counts: GenerationCounts | undefined, mono_ms: number): Raise | undefined;
  /** The baseline of the next reading. */
  readonly known: GenerationCounts;
}

export function createGenerationTracker(first: GenerationCounts | undefined, mono_ms: number): GenerationTracker {
  let known: GenerationCounts = first ?? {};
  let read_mono_ms = mono_ms;
  return {
    advance(counts, now_mono_ms) {
      if (counts === undefined) return undefined;
      let restores = 0;
      for (const line in counts) {
        const now = counts[line] ?? 0;
        restores = Math.max(restores, now - (known[line] ?? now));
      }
      const from_mono_ms = read_mono_ms;
      known = counts;
      read_mono_ms = now_mono_ms;
      return restores === 0 ? undefined : { restores, from_mono_ms };
    },
    get known() {
      return known;
    },
  };
}
