// One resume, put together from every sign that points to it: the most certain cause wins, the signals are collected.
import type { ResumeCause, ResumeCertainty, ResumeSignal } from '../../contract/local/resume.ts';

/** One observation that points to a resume. */
export interface Sign {
  readonly signal: ResumeSignal;
  readonly cause: ResumeCause;
  readonly certainty: ResumeCertainty;
  /** Undefined where this source cannot measure it. */
  readonly gap_ms?: number | undefined;
  readonly wall_skew_ms?: number | undefined;
  /** How many resumes it stands for; 0 for a sign that only confirms one. */
  readonly restores: number;
}

export interface Resume {
  readonly cause: ResumeCause;
  readonly certainty: ResumeCertainty;
  readonly signals: readonly ResumeSignal[];
  readonly gap_ms: number | null;
  readonly wall_skew_ms: number | null;
  readonly restores: number;
  /** Run time at which it was noticed. */
  readonly noticed_mono_ms: number;
}

/** The most telling cause first: of two causes that are equally certain, the earlier one stands. */
const causeOrder: readonly ResumeCause[] = [
  'restore',
  'guest_sleep',
  'vm_paused',
  'process_stopped',
  'vm_paused_silent',
  'external_time',
  'poke',
];
const certaintyOrder: readonly ResumeCertainty[] = ['certain', 'likely', 'possible'];

type Finding = Pick<Resume, 'cause' | 'certainty'>;

/** Makes a resume of at least one sign. All signs are of the same moment, so that two of them are still one resume. */
export function toResume(signs: readonly [Sign, ...Sign[]], noticed_mono_ms: number): Resume {
  const [first] = signs;
  const { cause, certainty } = signs.reduce<Finding>(surer, first);
  return {
    cause,
    certainty,
    signals: [...new Set(signs.map((sign) => sign.signal))],
    gap_ms: longest(signs.map((sign) => sign.gap_ms)),
    wall_skew_ms: signs.find((sign) => sign.wall_skew_ms !== undefined)?.wall_skew_ms ?? null,
    restores: Math.max(1, ...signs.map((sign) => sign.restores)),
    noticed_mono_ms,
  };
}

/** Joins later signs to an earlier resume. `more.restores` counts only when they are a resume again, not a confirmation. */
export function joinResumes(before: Resume, more: Resume, again: boolean): Resume {
  const { cause, certainty } = surer(before, more);
  return {
    cause,
    certainty,
    signals: [...new Set([...before.signals, ...more.signals])],
    gap_ms: longest([before.gap_ms, more.gap_ms]),
    wall_skew_ms: more.wall_skew_ms ?? before.wall_skew_ms,
    restores: before.restores + (again ? more.restores : 0),
    noticed_mono_ms: before.noticed_mono_ms,
  };
}

function surer(a: Finding, b: Finding): Finding {
  const order = certaintyOrder.indexOf(a.certainty) - certaintyOrder.indexOf(b.certainty);
  if (order !== 0) return order < 0 ? a : b;
  return causeOrder.indexOf(a.cause) <= causeOrder.indexOf(b.cause) ? a : b;
}

function longest(values: readonly (number | null | undefined)[]): number | null {
  const known = values.filter((value) => value !== undefined && value !== null);
  return known.length === 0 ? null : Math.round(Math.max(...known));
}
