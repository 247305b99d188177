// Drives the recovery from a resume: runs the steps in order, opens the gate after the first ones, and starts over when the
// machine is resumed again in the middle.
import type { StepResult } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import { advance, idleSequence, type SequencePlan, type SequenceState } from '../../core/resume/resume-sequence.ts';
import type { Gate } from './gate.ts';
import { type ImmediateStep, runImmediately, runStep, type Step } from './run-step.ts';

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly check: () => void;
  /** The first step. It is over before `begin` returns, so that every listener to the resume finds the new incarnation. */
  readonly renew: ImmediateStep;
  /** The other steps before the gate opens, in order. Called for each attempt. */
  readonly gated: () => readonly Step[];
  readonly afterwards: () => readonly Step[];
  readonly onDone: (reports: readonly StepResult[]) => void;
}

export interface Recovery extends AsyncDisposable {
  /** Closes the gate and renews before it returns. Steps of an earlier attempt that still run are aborted, and their results are dropped. */
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
    // No step runs before `begin` returns, because its caller publishes the resume first.
    await Promise.resolve();
    if (signal.aborted) return;
    for (const step of steps) {
      const result = await runStep(step, { clock, signal, check });
      if (signal.aborted) return;
      end(result, attempt, plan);
    }
    options.onDone(state.reports);
  }

  function end(result: StepResult, attempt: number, plan: SequencePlan): void {
    state = advance(state, { type: 'step_ended', attempt, report: result }, plan);
    if (state.type !== 'closed') gate.open('resuming');
  }

  return {
    begin() {
      if (disposed) return;
      gate.close('resuming');
      abort.abort();
      abort = new AbortController();
      const gated = options.gated();
      const steps = [...gated, ...options.afterwards()];
      const plan = { steps: 1 + steps.length, gated: 1 + gated.length };
      state = advance(state, { type: 'begin' }, plan);
      end(runImmediately(options.renew, clock), state.attempt, plan);
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
