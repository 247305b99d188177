// Notices from every source there is that time has passed while this machine stood still, and says why: one resume per event,
// however many signs point to it. A busy event loop and a clock that was set are recognized and are no resume.
import type { SourceName } from '../../contract/local/resume.ts';
import { createFailingOrigins } from './failing-origins.ts';
import type { Finding } from './finding.ts';
import type { Raise } from './generation-tracker.ts';
import { type Instant, readInstant, wallStep_ms } from './instant.ts';
import { createPauseTracker } from './pause-tracker.ts';
import { createResumeJudge } from './resume-judge.ts';
import type { Resume, Sign } from './resume-record.ts';
import type { GenerationCounts, ResumeSources } from './resume-sources.ts';
import { createSignReader, STEP_MS } from './sign-reader.ts';
import { GAP_MS } from './timer-gap.ts';
import { createUpstreamDates, DATE_STEP_MS } from './upstream-dates.ts';

/** The knowledge that a detector passes to the one in the next image of the same process. */
export interface DetectorMemory {
  readonly counts: GenerationCounts;
  /** The last resume, with its time on the clock of the process that reads this. */
  readonly recent: Resume | undefined;
}

export interface ResumeDetector {
  /** Called every 250 ms. */
  tick(): readonly Finding[];
  /** The same, for a moment between two ticks. */
  check(): readonly Finding[];
  /**
   * A program reports a resume. `recovering`: the last resume is still being recovered from, and the report is about that one.
   */
  poke(recovering: boolean): readonly Finding[];
  /** Takes the `Date` of an upstream answer, in Unix time, to a question that was asked `took_ms` ago. */
  noteDate(origin: string, date_ms: number, took_ms?: number): readonly Finding[];
  /** A pooled connection to `origin` broke. When two break together every source is examined; an outage is no resume. */
  noteFailure(origin: string): readonly Finding[];
  /** This process received SIGCONT. */
  noteContinued(): readonly Finding[];
  /** A suspend was accepted (`up`): signs that would otherwise be doubtful are expected. */
  setFence(up: boolean): void;
  memory(): DetectorMemory;
  signals(): { live: SourceName[]; missing: SourceName[]; blind_spots: string[] };
}

/** How long after a resume the ticks read the generation and the clocks only: signs are about that resume. */
const CALLERS_FIRST_MS = 1_000;
/** What the other ends of connections bear. A host that holds a machine still for longer than this has failed meanwhile. */
const HELD_MAX_MS = 30_000;

const nothing: readonly Finding[] = [];

/** Takes its baselines now, except those that `before` has. Reads nothing but `sources`. */
export function createResumeDetector(sources: ResumeSources, before?: DetectorMemory): ResumeDetector {
  const dates = createUpstreamDates();
  const failing = createFailingOrigins();
  const pauses = createPauseTracker(sources.pauses);
  let news: Finding[] = [];
  const onFinding = (finding: Finding) => void news.push(finding);
  const judge = createResumeJudge(before?.recent);
  const reader = createSignReader({ sources, judge, onFinding, counts: before?.counts });
  let last: Instant = reader.begun;
  /** Run time after this moment was not spent on a look, and belongs to a gap when it is long. */
  let lookedUntil_ms = last.mono_ms;

  function drain(): readonly Finding[] {
    if (news.length === 0) return nothing;
    const found = news;
    news = [];
    return found;
  }

  /** The cheap look. Every source is examined only when this look finds something odd. */
  function detect(): readonly Finding[] {
    const now = readInstant(sources);
    const raised = reader.readGeneration(now.mono_ms);
    const late = now.mono_ms - lookedUntil_ms > GAP_MS;
    if (raised !== undefined || late || Math.abs(wallStep_ms(last, now)) >= STEP_MS) {
      examine(now, raised);
    } else {
      last = now;
      lookedUntil_ms = now.mono_ms;
    }
    return drain();
  }

  /** Examines every source, and decides what together they say about the time since the last look. */
  function examine(now: Instant, raised: Raise | undefined, continued = false): void {
    const gap = { began_mono_ms: lookedUntil_ms, gap_ms: now.mono_ms - lookedUntil_ms };
    const step_ms = wallStep_ms(last, now);
    last = now;
    const held = pauses.look(now.mono_ms) && gap.gap_ms <= HELD_MAX_MS;
    conclude(now, reader.readAll({ now, step_ms, raised, continued, held, ...gap }));
    lookedUntil_ms = sources.mono_ms();
  }

  function conclude({ mono_ms }: Instant, signs: readonly Sign[]): void {
    const finding = judge.conclude(signs, mono_ms);
    if (finding !== undefined) news.push(finding);
  }

  function examineNow(continued = false): Instant {
    const now = readInstant(sources);
    examine(now, reader.readGeneration(now.mono_ms), continued);
    return now;
  }

  return {
    check: detect,
    tick() {
      const found = detect();
      // What waits for the recovery goes first: the sources that are due are read a second after it began.
      if (found.length > 0 || judge.since_ms(last.mono_ms) < CALLERS_FIRST_MS) return found;
      conclude(last, reader.readDue(last));
      return drain();
    },
    poke(recovering) {
      const now = examineNow();
      const known = recovering || judge.isFresh(now.mono_ms);
      conclude(now, [{ signal: 'poke', cause: 'poke', certainty: 'likely', restores: known ? 0 : 1 }]);
      return drain();
    },
    noteDate(origin, date_ms, took_ms) {
      reader.saw('upstream_date', true);
      const now = readInstant(sources);
      const verdict = dates.note(origin, date_ms, now.mono_ms, took_ms);
      if (verdict.type === 'nothing') return drain();
      const learned = judge.restoresFrom(verdict.from_mono_ms) === 0;
      examine(now, reader.readGeneration(now.mono_ms));
      const behind_ms = date_ms - now.wall_ms;
      const sign: Sign = {
        signal: 'upstream_date',
        cause: 'external_time',
        certainty: learned ? 'likely' : 'possible',
        gap_ms: verdict.away_ms,
        wall_skew_ms: behind_ms > DATE_STEP_MS ? Math.round(behind_ms) : 0,
        restores: judge.restoresFrom(verdict.from_mono_ms),
      };
      conclude(now, [sign]);
      return drain();
    },
    noteFailure(origin) {
      if (!failing.note(origin, sources.mono_ms())) return drain();
      const now = examineNow();
      judge.hint(now.mono_ms);
      if (judge.last !== undefined && judge.isFresh(now.mono_ms)) {
        conclude(now, [{ signal: 'failing_origins', cause: judge.last.cause, certainty: 'possible', restores: 0 }]);
      }
      return drain();
    },
    noteContinued() {
      const now = examineNow(true);
      if (pauses.isFresh(now.mono_ms)) return drain();
      const known = judge.isFresh(now.mono_ms);
      const cause = judge.last?.cause;
      const stopped = cause === 'process_stopped' || cause === 'vm_paused';
      if (known ? !stopped : !judge.fenced) return drain();
      const sign = { signal: 'continued', cause: 'process_stopped', wall_skew_ms: 0 } as const;
      conclude(now, [{ ...sign, certainty: known ? 'certain' : 'likely', restores: known ? 0 : 1 }]);
      return drain();
    },
    setFence: judge.setFence,
    memory: () => ({ counts: reader.counts, recent: judge.last }),
    signals: reader.signals,
  };
}
