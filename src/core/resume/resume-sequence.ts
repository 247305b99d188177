// The course of a recovery, as a table: steps in order, the gate open after the first ones, a second resume starting over.
//
//   idle ──begin──▶ closed ──gated steps ended──▶ open ──all steps ended──▶ idle
//                    │ ▲                            │
//                    └─┴──────────begin─────────────┘
//
// A step counts only for the attempt it belongs to: what a former attempt still has under way ends without a trace.
import type { StepResult } from '../../contract/local/resume.ts';

export type SequenceState =
  | { readonly type: 'idle'; readonly attempt: number; readonly reports: readonly StepResult[] }
  /** `closed`: callers wait. `open`: they are served, and the rest of the steps goes on. */
  | { readonly type: 'closed' | 'open'; readonly attempt: number; readonly reports: readonly StepResult[] };

export type SequenceEvent =
  | { readonly type: 'begin' }
  | { readonly type: 'step_ended'; readonly attempt: number; readonly report: StepResult };

export interface SequencePlan {
  /** Steps in all, and how many of them come before the gate opens. */
  readonly steps: number;
  readonly gated: number;
}

/** Nothing to recover from; `reports` are those of the last recovery. */
export const idleSequence: SequenceState = { type: 'idle', attempt: 0, reports: [] };

/** The state after `event`. Ended steps move it on whether they went well or not: one that fails keeps nothing from happening. */
export function advance(state: SequenceState, event: SequenceEvent, plan: SequencePlan): SequenceState {
  switch (event.type) {
    case 'begin':
      return toState(state.attempt + 1, [], plan);
    case 'step_ended':
      if (state.type === 'idle' || event.attempt !== state.attempt) return state;
      return toState(state.attempt, [...state.reports, event.report], plan);
    default:
      return event satisfies never;
  }
}

function toState(attempt: number, reports: readonly StepResult[], plan: SequencePlan): SequenceState {
  if (reports.length >= plan.steps) return { type: 'idle', attempt, reports };
  return { type: reports.length >= plan.gated ? 'open' : 'closed', attempt, reports };
}
