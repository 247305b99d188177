// Decides what the signs of one moment mean: a new resume, another one in a row, or one more sign of the last. Pure: run time comes
// in as an argument.
import type { Finding } from './finding.ts';
import { joinResumes, type Resume, type Sign, toResume } from './resume-record.ts';

/** Signs within this time of the first one are one resume. */
const TOGETHER_MS = 2_000;
/** Connections that broke together may be an outage. They support other signs within this time and prove nothing alone. */
const HINT_MS = 10_000;

export interface ResumeJudge {
  /** Signs become a new resume, or join the resume of the last two seconds, or the one that they are late for. */
  conclude(signs: readonly Sign[], mono_ms: number): Finding | undefined;
  /** How many resumes a step of a source stands for that was last read at `from_mono_ms`; 0 when it belongs to the last resume. */
  restoresFrom(from_mono_ms: number, restores?: number): number;
  /** The time since the last resume was noticed; infinite when there was none. */
  since_ms(mono_ms: number): number;
  /** Whether the last resume is so young that another sign is about it. */
  isFresh(mono_ms: number): boolean;
  /** Takes connections that broke together. */
  hint(mono_ms: number): void;
  /** A suspend is accepted (`up`), or not any more. */
  setFence(up: boolean): void;
  /** True while a suspend is accepted: signs that would otherwise be doubtful are expected. */
  readonly fenced: boolean;
  /** The last resume, with all its signs. */
  readonly last: Resume | undefined;
}

/** `before` is the last resume that the former process of the agent noticed. */
export function createResumeJudge(before: Resume | undefined): ResumeJudge {
  let last = before;
  /** A step of a source that was last read before this time is a sign of the resume at this time, and of no other. */
  let resumed_mono_ms = before?.noticed_mono_ms ?? Number.NEGATIVE_INFINITY;
  let fenced = false;
  let hinted_mono_ms = Number.NEGATIVE_INFINITY;

  function since_ms(mono_ms: number): number {
    return last === undefined ? Number.POSITIVE_INFINITY : mono_ms - last.noticed_mono_ms;
  }

  function isFresh(mono_ms: number): boolean {
    return since_ms(mono_ms) <= TOGETHER_MS;
  }

  return {
    conclude(signs, mono_ms) {
      const [first, ...rest] = signs;
      if (first === undefined) return undefined;
      const again = signs.some((sign) => sign.restores > 0);
      const joins = !again || isFresh(mono_ms);
      if (fenced) rest.push({ ...first, signal: 'fence', restores: 0 });
      if (mono_ms - hinted_mono_ms < HINT_MS) rest.push({ ...first, signal: 'failing_origins', restores: 0 });
      const resume = toResume([first, ...rest], mono_ms);
      if (again) resumed_mono_ms = mono_ms;
      if (joins && last !== undefined) {
        last = joinResumes(last, resume, again);
        return { type: again ? 'again' : 'more', resume: last };
      }
      if (!again) return undefined;
      last = resume;
      return { type: 'resume', resume };
    },
    restoresFrom: (from_mono_ms, restores = 1) => (from_mono_ms < resumed_mono_ms ? 0 : restores),
    since_ms,
    isFresh,
    hint(mono_ms) {
      hinted_mono_ms = mono_ms;
    },
    setFence(up) {
      fenced = up;
    },
    get fenced() {
      return fenced;
    },
    get last() {
      return last;
    },
  };
}
