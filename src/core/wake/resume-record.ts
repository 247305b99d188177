// One resume, put together from every sign that points to it: the surest cause wins, the signals add up.
import type { ResumeCause, ResumeCertainty, WakeSignal } from '../../contract/local/resume.ts';

/** One thing that was seen. */
export interface Sign {
  readonly signal: WakeSignal;
  readonly cause: ResumeCause;
  readonly certainty: ResumeCertainty;
  /** Undefined where this source cannot tell. */
  readonly gap_ms?: number | undefined;
  readonly wall_skew_ms?: number | undefined;
  /** How many resumes it stands for; 0 for a sign that only confirms one. */
  readonly restores: number;
}

export interface Resume {
  readonly cause: ResumeCause;
  readonly certainty: ResumeCertainty;
  readonly signals: readonly WakeSignal[];
  readonly gap_ms: number | null;
  readonly wall_skew_ms: number | null;
  readonly restores: number;
  /** Run time at which it was noticed. */
  readonly noticed_mono_ms: number;
}

/** Most telling first: of two causes that are equally sure, the earlier one stands. */
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

/** A resume made of at least one sign; all signs are of the same moment, so that two of them are still one resume. */
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

/** What came later joined to what came before. `more.restores` counts only when it is a resume again, not a confirmation. */
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
