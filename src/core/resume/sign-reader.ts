// Reads the sources of this machine, and says which signs of a resume they show since they were last read. What looks like a sign
// and is none, such as a busy event loop or a clock that was set, is a finding of its own.
import type { SourceName } from '../../contract/local/resume.ts';
import type { Finding } from './finding.ts';
import { createGenerationTracker, type Raise } from './generation-tracker.ts';
import { type Instant, readInstant } from './instant.ts';
import { createLoadMeter, type LoadLive } from './load-meter.ts';
import type { ResumeJudge } from './resume-judge.ts';
import type { Sign } from './resume-record.ts';
import type { GenerationCounts, ResumeSources } from './resume-sources.ts';
import { createSignalBoard } from './signal-board.ts';
import { createSlowClocks } from './slow-clocks.ts';
import { GAP_MS, type GapVerdict, judgeGap } from './timer-gap.ts';

/** A larger step of one clock against another is no noise. */
export const STEP_MS = 500;
/** A step of the wall clock within this time after a resume is its correction. */
const AFTERMATH_MS = 10 * 60_000;
const BOOT_EVERY_MS = 1_000;
const RTC_EVERY_MS = 5_000;
const RTC_FENCED_EVERY_MS = 1_000;
/** A doubtful sign within this time after a resume is an echo of it, not a new resume. */
const QUIET_MS = 60_000;

/** A look at the machine that found something odd. */
export interface OddLook {
  readonly now: Instant;
  /** How far the wall clock moved against run time since the last look. */
  readonly step_ms: number;
  /** The gap since the last look: when it began, and its length. */
  readonly began_mono_ms: number;
  readonly gap_ms: number;
  readonly raised: Raise | undefined;
  /** Whether this process received SIGCONT. */
  readonly continued: boolean;
  /** Whether the host held the machine still during the gap, for a copy of its files. */
  readonly held: boolean;
}

export interface SignReader {
  /** The cheap reading: whether the VM got a new generation. */
  readGeneration(mono_ms: number): Raise | undefined;
  /** Reads every source. */
  readAll(look: OddLook): readonly Sign[];
  /** Reads the sources that are due at a tick. */
  readDue(now: Instant): readonly Sign[];
  /** Notes whether a source was read just now. */
  saw(source: SourceName, live: boolean): void;
  /** Which sources this machine has, and what goes unnoticed without the others. */
  signals(): { live: SourceName[]; missing: SourceName[]; blind_spots: string[] };
  readonly counts: GenerationCounts;
  /** The moment of the baselines. */
  readonly begun: Instant;
}

export interface SignReaderOptions {
  readonly sources: ResumeSources;
  readonly judge: Pick<ResumeJudge, 'restoresFrom' | 'since_ms' | 'fenced'>;
  readonly onFinding: (finding: Finding) => void;
  /** The generation that the former process of the agent had read. */
  readonly counts: GenerationCounts | undefined;
}

/** Takes its baselines now, except those that are given. */
export function createSignReader({ sources, judge, onFinding, counts }: SignReaderOptions): SignReader {
  const board = createSignalBoard();
  const slow = createSlowClocks(sources);
  const load = createLoadMeter(sources);
  const begun = readInstant(sources);
  let bootDue_ms = begun.mono_ms + BOOT_EVERY_MS;
  let rtcRead_ms = begun.mono_ms;
  const first = readCounts();
  const generations = createGenerationTracker(counts ?? first, begun.mono_ms);
  sawLoad(load.tick());
  saw('boot_clock', slow.readBoot() !== undefined);
  saw('rtc', slow.readRtc() !== undefined);

  function saw(source: SourceName, live: boolean): void {
    const change = board.saw(source, live);
    if (change !== undefined) onFinding({ type: live ? 'signal_found' : 'signal_lost', source });
  }

  function sawLoad(live: LoadLive | undefined): void {
    if (live === undefined) return;
    saw('timer_interrupts', live.timer_interrupts);
    saw('steal', live.steal);
    saw('run_queue', live.run_queue);
  }

  function readCounts(): GenerationCounts | undefined {
    const read = sources.generation();
    saw('generation', read !== undefined);
    return read;
  }

  /** Returns how long the guest slept. */
  function readBoot(now: Instant, step_ms: number, signs: Sign[]): number {
    bootDue_ms = now.mono_ms + BOOT_EVERY_MS;
    const sleep = slow.readBoot();
    saw('boot_clock', sleep !== undefined);
    if (sleep === undefined || sleep.slept_ms < STEP_MS) return 0;
    const { slept_ms: gap_ms } = sleep;
    const wall_skew_ms = Math.round(gap_ms - step_ms);
    const restores = judge.restoresFrom(sleep.from_mono_ms);
    const sign = { signal: 'boot_clock', cause: 'guest_sleep', certainty: 'certain' } as const;
    signs.push({ ...sign, gap_ms, wall_skew_ms, restores });
    return gap_ms;
  }

  function readGap({ gap_ms, began_mono_ms, continued, held }: OddLook, signs: Sign[]): void {
    const seen = judgeGap(gap_ms, load.readGap(began_mono_ms), continued);
    const verdict: GapVerdict = held ? { type: 'stall', why: 'held' } : seen;
    if (verdict.type === 'stall') {
      if (signs.length === 0) onFinding({ type: 'stall', why: verdict.why, gap_ms: Math.round(gap_ms) });
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
    const restores = judge.restoresFrom(verdict.from_mono_ms);
    signs.push({ signal: 'rtc', cause: 'vm_paused_silent', certainty, gap_ms, wall_skew_ms, restores });
  }

  function readWallStep({ mono_ms }: Instant, step_ms: number, signs: Sign[]): void {
    if (Math.abs(step_ms) < STEP_MS) return;
    const [sign] = signs;
    if (sign !== undefined) {
      signs.push({ signal: 'wall_clock', cause: sign.cause, certainty: 'possible', restores: 0 });
    } else if (judge.fenced && step_ms > 0 && judge.since_ms(mono_ms) > QUIET_MS) {
      const silent = { signal: 'wall_clock', cause: 'vm_paused_silent', certainty: 'likely' } as const;
      signs.push({ ...silent, gap_ms: step_ms, wall_skew_ms: 0, restores: 1 });
    } else {
      const type = judge.since_ms(mono_ms) <= AFTERMATH_MS ? 'clock_corrected' : 'clock_stepped';
      onFinding({ type, step_ms: Math.round(step_ms) });
    }
  }

  return {
    readGeneration: (mono_ms) => generations.advance(readCounts(), mono_ms),
    readAll(look) {
      const { now, raised, step_ms } = look;
      const signs: Sign[] = [];
      if (raised !== undefined) {
        const restores = judge.restoresFrom(raised.from_mono_ms, raised.restores);
        signs.push({ signal: 'generation', cause: 'restore', certainty: 'certain', restores });
      }
      const slept_ms = readBoot(now, step_ms, signs);
      if (look.gap_ms > GAP_MS) readGap(look, signs);
      readRtc(now, slept_ms > 0, signs);
      readWallStep(now, step_ms - slept_ms, signs);
      return signs;
    },
    readDue(now) {
      sawLoad(load.tick());
      const rtcEvery_ms = judge.fenced ? RTC_FENCED_EVERY_MS : RTC_EVERY_MS;
      const signs: Sign[] = [];
      if (now.mono_ms >= bootDue_ms) readBoot(now, 0, signs);
      if (now.mono_ms - rtcRead_ms >= rtcEvery_ms) readRtc(now, signs.length > 0, signs);
      return signs;
    },
    get counts() {
      return generations.known;
    },
    saw,
    signals: () => ({ live: board.live, missing: board.missing, blind_spots: board.blindSpots }),
    begun,
  };
}
