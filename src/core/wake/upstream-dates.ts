// The clocks of the platforms we call, as far as their `Date` headers show them: one that runs ahead of our run time by more
// than its resolution and drift explain says that time has passed without us.

/** `Date` counts seconds and arrives late, never early. */
export const DATE_STEP_MS = 3_000;
/** A clock that nobody disciplines drifts by up to 200 millionths. */
const DRIFT = 200e-6;
/** This many answers from before our reading mean that the platform set its clock back. */
const LOW_ANSWERS = 3;
const ORIGINS = 16;

export type DateVerdict =
  | { readonly type: 'nothing' }
  | { readonly type: 'away'; readonly away_ms: number }
  /** The first answer after a resume that is known already: it says how long that one was. */
  | { readonly type: 'learned'; readonly away_ms: number };

interface OriginClock {
  offset_ms: number;
  noted_mono_ms: number;
  low: number;
  explained: boolean;
}

export interface UpstreamDates {
  note(origin: string, date_ms: number, mono_ms: number): DateVerdict;
  /** A resume was noticed by other means: what the next answer of each known origin shows is explained by it. */
  explain(): void;
  /** The explanation has grown old. */
  settle(): void;
  readonly origins: number;
}

export function createUpstreamDates(): UpstreamDates {
  const clocks = new Map<string, OriginClock>();
  return {
    note(origin, date_ms, mono_ms) {
      const offset_ms = date_ms - mono_ms;
      const clock = clocks.get(origin);
      if (clock === undefined) {
        const oldest = clocks.keys().next();
        if (clocks.size >= ORIGINS && !oldest.done) clocks.delete(oldest.value);
        clocks.set(origin, { offset_ms, noted_mono_ms: mono_ms, low: 0, explained: false });
        return { type: 'nothing' };
      }
      const away_ms = offset_ms - clock.offset_ms;
      const allowed_ms = DATE_STEP_MS + (mono_ms - clock.noted_mono_ms) * DRIFT;
      const { explained } = clock;
      clock.noted_mono_ms = mono_ms;
      clock.explained = false;
      clock.low = away_ms < -DATE_STEP_MS ? clock.low + 1 : 0;
      if (away_ms > 0 || clock.low >= LOW_ANSWERS) {
        clock.offset_ms = offset_ms;
        clock.low = 0;
      }
      if (away_ms <= allowed_ms) return { type: 'nothing' };
      return { type: explained ? 'learned' : 'away', away_ms };
    },
    explain() {
      for (const clock of clocks.values()) clock.explained = true;
    },
    settle() {
      for (const clock of clocks.values()) clock.explained = false;
    },
    get origins() {
      return clocks.size;
    },
  };
}
