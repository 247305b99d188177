// Notices from every source there is that time has passed without this machine, and says why: one resume per event, however
// many signs point to it. A busy event loop and a clock that was set are recognized and are no resume.
import type { SourceName } from '../../contract/local/resume.ts';
import { createFailingOrigins } from './failing-origins.ts';
import { createGenerationTracker, type GenerationTracker, type Raise } from './generation-tracker.ts';
import { type Instant, readInstant, wallStep_ms } from './instant.ts';
import { createLoadMeter, type LoadLive } from './load-meter.ts';
import { joinResumes, type Resume, type Sign, toResume } from './resume-record.ts';
import type { GenerationCounts, ResumeSources } from './resume-sources.ts';
import { createSignalBoard } from './signal-board.ts';
import { createSlowClocks } from './slow-clocks.ts';
import { GAP_MS, judgeGap } from './timer-gap.ts';
import { createUpstreamDates, DATE_STEP_MS } from './upstream-dates.ts';

/** A larger step of one clock against another is no noise. */
const STEP_MS = 500;
/** Signs within this time of the first one are one resume. */
const TOGETHER_MS = 2_000;
/** A step of the wall clock within this time after a resume is its correction. */
const AFTERMATH_MS = 10 * 60_000;
const BOOT_EVERY_MS = 1_000;
const RTC_EVERY_MS = 5_000;
const RTC_FENCED_EVERY_MS = 1_000;
/** A doubtful sign within this time after a resume is an echo of it, not a new resume. */
const QUIET_MS = 60_000;
/** Connections that broke together may be an outage. They support other signs within this time and prove nothing alone. */
const HINT_MS = 10_000;

export type Finding =
  /** `resume`: a new one. `again`: another within two seconds; recovery starts over. `more`: another sign of the last one. */
  | { readonly type: 'resume' | 'again' | 'more'; readonly resume: Resume }
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved'; readonly gap_ms: number }
  /** The wall clock moved against run time: after a resume, or by itself. */
  | { readonly type: 'clock_corrected' | 'clock_stepped'; readonly step_ms: number }
  | { readonly type: 'signal_lost' | 'signal_found'; readonly source: SourceName };

/** The knowledge that a detector passes to the one in the next image of the same process. */
export interface DetectorMemory {
  readonly counts: GenerationCounts;
  /** The last resume, with its time on the clock of the process that reads this. */
  readonly recent: Resume | undefined;
}

export interface ResumeDetector {
  /** Called every 250 ms. */
  tick(): readonly Finding[];
  /** A program reports a resume. `recovering`: the last one is still being recovered from, and is the one that is meant. */
  check(): readonly Finding[];
  /**
   * A program reports a resume. `recovering`: the last resume is still being recovered from, and the report is about that one.
   */
  poke(recovering: boolean): readonly Finding[];
  /** Takes the `Date` of an upstream answer, in Unix time. */
  noteDate(origin: string, date_ms: number): readonly Finding[];
  /** A pooled connection to `origin` broke. When two break together every source is examined; an outage is no resume. */
  noteFailure(origin: string): readonly Finding[];
  /** This process received SIGCONT. */
  noteContinued(): readonly Finding[];
  /** A suspend was accepted (`up`): signs that would otherwise be doubtful are expected. */
  setFence(up: boolean): void;
  memory(): DetectorMemory;
  signals(): { live: SourceName[]; missing: SourceName[]; blind_spots: string[] };
}

const nothing: readonly Finding[] = [];

/** Takes its baselines now, except those that `before` has. Reads nothing but `sources`. */
export function createResumeDetector(sources: ResumeSources, before?: DetectorMemory): ResumeDetector {
  const board = createSignalBoard();
  const dates = createUpstreamDates();
  const failing = createFailingOrigins();
  const slow = createSlowClocks(sources);
  let news: Finding[] = [];
  const load = createLoadMeter(sources);
  let last: Instant = readInstant(sources);
  /** Run time after this moment was not spent on a look, and belongs to a gap when it is long. */
  let lookedUntil_ms = last.mono_ms;
  let bootDue_ms = last.mono_ms + BOOT_EVERY_MS;
  let rtcRead_ms = last.mono_ms;
  const counts = readGeneration();
  const generations: GenerationTracker = createGenerationTracker(before?.counts ?? counts, last.mono_ms);
  let current = before?.recent;
  /** A step of a source that was last read before this time is a sign of the resume at this time, and of no other. */
  let resumed_mono_ms = current?.noticed_mono_ms ?? Number.NEGATIVE_INFINITY;
  let fenced = false;
  let hinted_mono_ms = Number.NEGATIVE_INFINITY;
  sawLoad(load.tick());
  saw('boot_clock', slow.readBoot() !== undefined);
  saw('rtc', slow.readRtc() !== undefined);

  function saw(source: SourceName, live: boolean): void {
    const change = board.saw(source, live);
    if (change !== undefined) news.push({ type: live ? 'signal_found' : 'signal_lost', source });
  }

  function readGeneration(): GenerationCounts | undefined {
    const counts = sources.generation();
    saw('generation', counts !== undefined);
    return counts;
  }

  function sawLoad(live: LoadLive | undefined): void {
    if (live === undefined) return;
    saw('timer_interrupts', live.timer_interrupts);
    saw('steal', live.steal);
    saw('run_queue', live.run_queue);
  }

  /** How many resumes a step stands for, given that it happened after `from_mono_ms`. */
  function restoresFrom(from_mono_ms: number, restores = 1): number {
    return from_mono_ms < resumed_mono_ms ? 0 : restores;
  }

  function since(mono_ms: number): number {
    return current === undefined ? Number.POSITIVE_INFINITY : mono_ms - current.noticed_mono_ms;
  }

  function drain(): readonly Finding[] {
    if (news.length === 0) return nothing;
    const found = news;
    news = [];
    return found;
  }

  /** The cheap look. Every source is examined only when this look finds something odd. */
  function detect(): readonly Finding[] {
    const now = readInstant(sources);
    const raised = generations.advance(readGeneration(), now.mono_ms);
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
    const signs: Sign[] = [];
    if (raised !== undefined) {
      const restores = restoresFrom(raised.from_mono_ms, raised.restores);
      signs.push({ signal: 'generation', cause: 'restore', certainty: 'certain', restores });
    }
    const step_ms = wallStep_ms(last, now);
    const gap_ms = now.mono_ms - lookedUntil_ms;
    last = now;
    const slept_ms = readBoot(now, step_ms, signs);
    if (gap_ms > GAP_MS) readGap(gap_ms, continued, signs);
    readRtc(now, slept_ms > 0, signs);
    readWallStep(now, step_ms - slept_ms, signs);
    conclude(now, signs);
    lookedUntil_ms = sources.mono_ms();
  }

  function readBoot(now: Instant, step_ms: number, signs: Sign[]): number {
    bootDue_ms = now.mono_ms + BOOT_EVERY_MS;
    const sleep = slow.readBoot();
    saw('boot_clock', sleep !== undefined);
    if (sleep === undefined || sleep.slept_ms < STEP_MS) return 0;
    const { slept_ms } = sleep;
    const wall_skew_ms = Math.round(slept_ms - step_ms);
    signs.push({
      signal: 'boot_clock',
      cause: 'guest_sleep',
      certainty: 'certain',
      gap_ms: slept_ms,
      wall_skew_ms,
      restores: restoresFrom(sleep.from_mono_ms),
    });
    return slept_ms;
  }

  function readGap(gap_ms: number, continued: boolean, signs: Sign[]): void {
    const verdict = judgeGap(gap_ms, load.readGap(lookedUntil_ms), continued);
    if (verdict.type === 'stall') {
      if (signs.length === 0) news.push({ type: 'stall', why: verdict.why, gap_ms: Math.round(gap_ms) });
      return;
    }
    const { cause, certainty } = verdict;
    const skew = cause === 'process_stopped' ? { wall_skew_ms: 0 } : {};
    signs.push({ signal: 'timer_gap', cause, certainty, gap_ms, ...skew, restores: 1 });
  }

  function readRtc(now: Instant, slept: boolean, signs: Sign[]): void {
    rtcRead_ms = now.mono_ms;
    const verdict = slow.readRtc();
    saw('rtc', verdict !== undefined);
    if (verdict?.type !== 'away' || slept) return;
    const { away_ms: gap_ms, wall_skew_ms, certainty } = verdict;
    const restores = restoresFrom(verdict.from_mono_ms);
    signs.push({ signal: 'rtc', cause: 'vm_paused_silent', certainty, gap_ms, wall_skew_ms, restores });
  }

  function readWallStep(now: Instant, step_ms: number, signs: Sign[]): void {
    if (Math.abs(step_ms) < STEP_MS) return;
    const [first] = signs;
    if (first !== undefined) {
      signs.push({ signal: 'wall_clock', cause: first.cause, certainty: 'possible', restores: 0 });
      return;
    }
    if (fenced && step_ms > 0 && since(now.mono_ms) > QUIET_MS) {
      const sign = { signal: 'wall_clock', cause: 'vm_paused_silent', certainty: 'likely' } as const;
      signs.push({ ...sign, gap_ms: step_ms, wall_skew_ms: 0, restores: 1 });
      return;
    }
    const type = since(now.mono_ms) <= AFTERMATH_MS ? 'clock_corrected' : 'clock_stepped';
    news.push({ type, step_ms: Math.round(step_ms) });
  }

  /** Signs of one moment become a new resume, or join the resume of the last two seconds, or the one that they are late for. */
  function conclude(now: Instant, signs: readonly Sign[]): void {
    const [first, ...rest] = signs;
    if (first === undefined) return;
    const again = signs.some((sign) => sign.restores > 0);
    const joins = !again || since(now.mono_ms) <= TOGETHER_MS;
    if (fenced) rest.push({ ...first, signal: 'fence', restores: 0 });
    if (now.mono_ms - hinted_mono_ms < HINT_MS) rest.push({ ...first, signal: 'failing_origins', restores: 0 });
    const resume = toResume([first, ...rest], now.mono_ms);
    if (joins && current !== undefined) {
      current = joinResumes(current, resume, again);
      news.push({ type: again ? 'again' : 'more', resume: current });
    } else if (again) {
      current = resume;
      news.push({ type: 'resume', resume });
    }
    if (again) resumed_mono_ms = now.mono_ms;
  }

  function examineNow(continued = false): Instant {
    const now = readInstant(sources);
    examine(now, generations.advance(readGeneration(), now.mono_ms), continued);
    return now;
  }

  return {
    check: detect,
    tick() {
      const found = detect();
      const now = last;
      sawLoad(load.tick());
      const rtcEvery_ms = fenced ? RTC_FENCED_EVERY_MS : RTC_EVERY_MS;
      const signs: Sign[] = [];
      if (now.mono_ms >= bootDue_ms) readBoot(now, 0, signs);
      if (now.mono_ms - rtcRead_ms >= rtcEvery_ms) readRtc(now, signs.length > 0, signs);
      conclude(now, signs);
      return news.length === 0 ? found : [...found, ...drain()];
    },
    poke(recovering) {
      const now = examineNow();
      const known = recovering || since(now.mono_ms) <= TOGETHER_MS;
      conclude(now, [{ signal: 'poke', cause: 'poke', certainty: 'likely', restores: known ? 0 : 1 }]);
      return drain();
    },
    noteDate(origin, date_ms) {
      saw('upstream_date', true);
      const now = readInstant(sources);
      const verdict = dates.note(origin, date_ms, now.mono_ms);
      if (verdict.type === 'nothing') return drain();
      const learned = verdict.from_mono_ms < resumed_mono_ms;
      examine(now, generations.advance(readGeneration(), now.mono_ms));
      const behind_ms = date_ms - now.wall_ms;
      const sign: Sign = {
        signal: 'upstream_date',
        cause: 'external_time',
        certainty: learned ? 'likely' : 'possible',
        gap_ms: verdict.away_ms,
        wall_skew_ms: behind_ms > DATE_STEP_MS ? Math.round(behind_ms) : 0,
        restores: restoresFrom(verdict.from_mono_ms),
      };
      conclude(now, [sign]);
      return drain();
    },
    noteFailure(origin) {
      if (!failing.note(origin, sources.mono_ms())) return drain();
      const now = examineNow();
      hinted_mono_ms = now.mono_ms;
      if (since(now.mono_ms) <= TOGETHER_MS && current !== undefined) {
        conclude(now, [{ signal: 'failing_origins', cause: current.cause, certainty: 'possible', restores: 0 }]);
      }
      return drain();
    },
    noteContinued() {
      const now = examineNow(true);
      const known = since(now.mono_ms) <= TOGETHER_MS;
      const stopped = current?.cause === 'process_stopped' || current?.cause === 'vm_paused';
      if (known ? !stopped : !fenced) return drain();
      const sign = { signal: 'continued', cause: 'process_stopped', wall_skew_ms: 0 } as const;
      conclude(now, [{ ...sign, certainty: known ? 'certain' : 'likely', restores: known ? 0 : 1 }]);
      return drain();
    },
    setFence(up) {
      fenced = up;
    },
    memory: () => ({ counts: generations.known, recent: current }),
    signals: () => ({ live: board.live, missing: board.missing, blind_spots: board.blindSpots }),
  };
}
