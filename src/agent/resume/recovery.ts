// Drives the recovery from a resume: the steps in order, the gate opened after the first ones, everything started over when the
// machine is resumed again in the middle (resume.md, section 4).
import type { StepReport } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import { advance, idleSequence, type SequencePlan, type SequenceState } from '../../core/resume-sequence.ts';
import type { Gate } from './gate.ts';
import { runStep, type Step } from './run-step.ts';

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly check: () => void;
  /** In order. Read anew for each attempt. */
  readonly gated: () => readonly Step[];
  readonly afterwards: () => readonly Step[];
  readonly onDone: (reports: readonly StepReport[]) => void;
}

export interface Recovery extends AsyncDisposable {
  /** Closes the gate before it returns. What an earlier attempt still has under way is aborted and reports nothing. */
  begin(): void;
  readonly running: boolean;
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { clock, gate, check } = options;
  let state: SequenceState = idleSequence;
  let abort = new AbortController();
  let latest: Promise<void> = Promise.resolve();
  let disposed = false;

  async function run(steps: readonly Step[], plan: SequencePlan, attempt: number, signal: AbortSignal): Promise<void> {
    for (const step of steps) {
      const report = await runStep(step, { clock, signal, check });
      if (signal.aborted) return;
      state = advance(state, { type: 'step_ended', attempt, report }, plan);
      if (state.type !== 'closed') gate.open('resuming');
    }
    options.onDone(state.reports);
  }

  return {
    begin() {
      if (disposed) return;
      gate.close('resuming');
      abort.abort();
      abort = new AbortController();
      const gated = options.gated();
      const steps = [...gated, ...options.afterwards()];
      const plan = { steps: steps.length, gated: gated.length };
      state = advance(state, { type: 'begin' }, plan);
      latest = run(steps, plan, state.attempt, abort.signal);
    },
    get running() {
      return state.type !== 'idle';
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      abort.abort();
      await latest;
    },
  };
}
