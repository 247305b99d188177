// The wall and the monotonic clock of one moment. The difference of the two is what counts, so that a reading is repeated when
// other work on the CPU came between them.
import type { ResumeSources } from './resume-sources.ts';

const TORN_MS = 20;
const TRIES = 3;

export interface Instant {
  readonly mono_ms: number;
  readonly wall_ms: number;
}

export function readInstant(sources: Pick<ResumeSources, 'mono_ms' | 'wall_ms'>): Instant {
  let best: Instant | undefined;
  let narrowest_ms = Number.POSITIVE_INFINITY;
  for (let tries = 0; tries < TRIES; tries += 1) {
    const before_ms = sources.mono_ms();
    const wall_ms = sources.wall_ms();
    const mono_ms = sources.mono_ms();
    const width_ms = mono_ms - before_ms;
    if (best === undefined || width_ms < narrowest_ms) {
      best = { mono_ms, wall_ms };
      narrowest_ms = width_ms;
    }
    if (width_ms <= TORN_MS) break;
  }
  return best ?? { mono_ms: sources.mono_ms(), wall_ms: sources.wall_ms() };
}

/** How far the wall clock moved against the monotonic one between two moments. */
export function wallStep_ms(before: Instant, after: Instant): number {
  return after.wall_ms - after.mono_ms - (before.wall_ms - before.mono_ms);
}
