// Notices that time has passed without us, from every source there is, and says what it was: one resume per event, however
// many signs point to it. A loop of our own that was busy and a clock that was set are told apart from it (resume.md, section 3).
import type { SourceName } from '../contract/local/resume.ts';
import { createFailingOrigins } from './wake/failing-origins.ts';
import { createGenerationTracker, type GenerationTracker } from './wake/generation-tracker.ts';
import { type Instant, takeInstant, wallStep_ms } from './wake/instant.ts';
import { joinResumes, type Resume, type Sign, toResume } from './wake/resume-record.ts';
import { createSignalBoard } from './wake/signal-board.ts';
import { createSlowClocks } from './wake/slow-clocks.ts';
import { GAP_MS, judgeGap, type LoadSample, takeLoadSample } from './wake/timer-gap.ts';
import { createUpstreamDates, DATE_STEP_MS } from './wake/upstream-dates.ts';
import type { GenerationCounts, WakeSources } from './wake/wake-sources.ts';

/** A step of one clock against another that is more than noise. */
const STEP_MS = 500;
/** Signs within this time of the first one are one resume. */
const TOGETHER_MS = 2_000;
/** For this long after a resume a step of the wall clock is its correction, and an upstream `Date` its measure. */
const AFTERMATH_MS = 10 * 60_000;
const BOOT_EVERY_MS = 1_000;
const RTC_EVERY_MS = 5_000;
const RTC_FENCED_EVERY_MS = 1_000;
/** For this long after a resume a doubtful sign is an echo of it, not a new one. */
const QUIET_MS = 60_000;
/** Connections that broke together may be an outage; they support what else is found within this time, and are no proof. */
const HINT_MS = 10_000;
/** Reading the load costs at most a two-thousandth of a core. */
const LOAD_SHARE = 2_000;

export type Finding =
  /** `resume`: a new one. `again`: once more within two seconds, recovery starts over. `more`: a further sign of the last one. */
  | { readonly type: 'resume' | 'again' | 'more'; readonly resume: Resume }
  | { readonly type: 'stall'; readonly why: 'busy' | 'starved'; readonly gap_ms: number }
  /** The wall clock moved against run time: after a resume, or by itself. */
  | { readonly type: 'clock_corrected' | 'clock_stepped'; readonly step_ms: number }
  | { readonly type: 'signal_lost' | 'signal_found'; readonly source: SourceName };

/** What a detector leaves to one in the next image of the same process. */
export interface WakeMemory {
  readonly counts: GenerationCounts;
  /** The last resume, with its time on the clock of whoever reads this. */
  readonly recent: Resume | undefined;
}

export interface WakeDetector {
  /** Every 250 ms. */
  tick(): readonly Finding[];
  /** Before a guarded action: the generation counter and two clocks, a few microseconds. */
  check(): readonly Finding[];
  /** Somebody says that we were resumed. `recovering`: the last resume is still being dealt with, and this is about that one. */
  poke(recovering: boolean): readonly Finding[];
  /** The `Date` of an upstream answer, in Unix time. */
  noteDate(origin: string, date_ms: number): readonly Finding[];
  /** A pooled connection to `origin` broke: with two at once everything is examined, but an outage is no resume. */
  noteFailure(origin: string): readonly Finding[];
  /** This process got SIGCONT. */
  noteContinued(): readonly Finding[];
  /** A suspend was accepted, and what would be a doubtful sign otherwise is expected. */
  setFence(up: boolean): void;
  memory(): WakeMemory;
  signals(): { live: SourceName[]; missing: SourceName[]; blind_spots: string[] };
}

const nothing: readonly Finding[] = [];

/** Takes its baselines now, but for what `before` remembers. Reads nothing but `sources`. */
export function createWakeDetector(sources: WakeSources, before?: WakeMemory): WakeDetector {
  const board = createSignalBoard();
  const dates = createUpstreamDates();
  const failing = createFailingOrigins();
  const slow = createSlowClocks(sources);
  let news: Finding[] = [];
  let last: Instant = takeInstant(sources);
  let load: LoadSample = takeLoad();
  let loadDue_ms = 0;
  let bootDue_ms = last.mono_ms + BOOT_EVERY_MS;
  let rtcRead_ms = last.mono_ms;
  const counts = readGeneration();
  const generations: GenerationTracker = createGenerationTracker(before?.counts ?? counts);
  let current = before?.recent;
  let fenced = false;
  let hinted_mono_ms = Number.NEGATIVE_INFINITY;
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

  function takeLoad(): LoadSample {
    const sample = takeLoadSample(sources);
    saw('timer_interrupts', sample.timerInterrupts !== undefined);
    saw('steal', sample.steal_ms !== undefined);
    saw('run_queue', sample.runQueueWait_ms !== undefined);
    return sample;
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

  /** The cheap look. Only what it finds odd is examined with everything there is. */
  function look(): readonly Finding[] {
    const now = takeInstant(sources);
    const restores = generations.advance(readGeneration());
    const odd = restores > 0 || now.mono_ms - last.mono_ms > GAP_MS || Math.abs(wallStep_ms(last, now)) >= STEP_MS;
    if (odd) examine(now, restores);
    else last = now;
    return drain();
  }

  /** Every source, and what they say together about the time since the last look. */
  function examine(now: Instant, restores: number, continued = false): void {
    const signs: Sign[] = [];
    if (restores > 0) signs.push({ signal: 'generation', cause: 'restore', certainty: 'certain', restores });
    const step_ms = wallStep_ms(last, now);
    const gap_ms = now.mono_ms - last.mono_ms;
    last = now;
    const slept_ms = readBoot(now, step_ms, signs);
    if (gap_ms > GAP_MS) readGap(gap_ms, continued, signs);
    readRtc(now, slept_ms > 0, signs);
    readWallStep(now, step_ms - slept_ms, signs);
    conclude(now, signs);
  }

  function readBoot(now: Instant, step_ms: number, signs: Sign[]): number {
    bootDue_ms = now.mono_ms + BOOT_EVERY_MS;
    const slept_ms = slow.readBoot();
    saw('boot_clock', slept_ms !== undefined);
    if (slept_ms === undefined || slept_ms < STEP_MS) return 0;
    const wall_skew_ms = Math.round(slept_ms - step_ms);
    signs.push({
      signal: 'boot_clock',
      cause: 'guest_sleep',
      certainty: 'certain',
      gap_ms: slept_ms,
      wall_skew_ms,
      restores: 1,
    });
    return slept_ms;
  }

  function readGap(gap_ms: number, continued: boolean, signs: Sign[]): void {
    const before = load;
    load = takeLoad();
    const verdict = judgeGap(gap_ms, before, load, continued);
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
    signs.push({ signal: 'rtc', cause: 'vm_paused_silent', certainty, gap_ms, wall_skew_ms, restores: 1 });
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

  /** Signs of one moment become a new resume, or join the one of the last two seconds. */
  function conclude(now: Instant, signs: readonly Sign[], joins = since(now.mono_ms) <= TOGETHER_MS): void {
    const [first, ...rest] = signs;
    if (first === undefined) return;
    const again = signs.some((sign) => sign.restores > 0);
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
    if (again) dates.explain();
  }

  function examineNow(continued = false): Instant {
    const now = takeInstant(sources);
    examine(now, generations.advance(readGeneration()), continued);
    return now;
  }

  return {
    check: look,
    tick() {
      const found = look();
      const now = last;
      if (now.mono_ms >= loadDue_ms) {
        load = takeLoad();
        loadDue_ms = now.mono_ms + (sources.mono_ms() - now.mono_ms) * LOAD_SHARE;
      }
      const rtcEvery_ms = fenced ? RTC_FENCED_EVERY_MS : RTC_EVERY_MS;
      const signs: Sign[] = [];
      if (now.mono_ms >= bootDue_ms) readBoot(now, 0, signs);
      if (now.mono_ms - rtcRead_ms >= rtcEvery_ms) readRtc(now, signs.length > 0, signs);
      if (since(now.mono_ms) > AFTERMATH_MS) dates.settle();
      conclude(now, signs);
      return news.length === 0 ? found : [...found, ...drain()];
    },
    poke(recovering) {
      const now = examineNow();
      const known = recovering || since(now.mono_ms) <= TOGETHER_MS;
      conclude(now, [{ signal: 'poke', cause: 'poke', certainty: 'likely', restores: known ? 0 : 1 }], known);
      return drain();
    },
    noteDate(origin, date_ms) {
      saw('upstream_date', true);
      const verdict = dates.note(origin, date_ms, sources.mono_ms());
      if (verdict.type === 'nothing') return drain();
      const now = examineNow();
      const behind_ms = date_ms - now.wall_ms;
      const learned = verdict.type === 'learned';
      const known = learned || since(now.mono_ms) <= TOGETHER_MS;
      const sign: Sign = {
        signal: 'upstream_date',
        cause: 'external_time',
        certainty: learned ? 'likely' : 'possible',
        gap_ms: verdict.away_ms,
        wall_skew_ms: behind_ms > DATE_STEP_MS ? Math.round(behind_ms) : 0,
        restores: known ? 0 : 1,
      };
      conclude(now, [sign], known);
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
