// How often the VM got a new generation since the last look. The baseline lives in memory and so in the snapshot: an image
// that is restored twice shows one more each time.
import type { GenerationCounts } from './wake-sources.ts';

export interface GenerationTracker {
  /**
   * Restores since the last reading. Several lines may fire for one restore, so the line that moved most counts. A count that
   * went back, or a new line, is a new baseline; one that was unreadable for a while is compared with what it was before.
   */
  advance(counts: GenerationCounts | undefined): number;
  /** What the next reading will be compared with. */
  readonly known: GenerationCounts;
}

export function createGenerationTracker(first: GenerationCounts | undefined): GenerationTracker {
  let known: GenerationCounts = first ?? {};
  return {
    advance(counts) {
      if (counts === undefined) return 0;
      let restores = 0;
      for (const line in counts) {
        const now = counts[line] ?? 0;
        restores = Math.max(restores, now - (known[line] ?? now));
      }
      known = counts;
      return restores;
    },
    get known() {
      return known;
    },
  };
}
