// Runs one step of the recovery with a deadline in run time. Whatever the step does, it has a result.

import type { StepResult } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import { toErrorMessage } from '../../core/error-message.ts';

export interface Step {
  readonly name: string;
  readonly deadline_ms: number;
  /** Local callers wait for it. */
  readonly isForCallers?: boolean;
  /** Aborted at the deadline, and when a second resume starts the recovery over. */
  run(signal: AbortSignal): Promise<void> | void;
}

/** A step that is over when it returns. */
export interface ImmediateStep extends Pick<Step, 'name' | 'deadline_ms'> {
  run(): void;
}

export interface StepSurroundings {
  readonly clock: Clock;
  /** Aborted when the recovery starts over or the agent ends. */
  readonly signal: AbortSignal;
  /** Looks for a resume before a deadline counts as missed, because the machine may have been suspended again. */
  readonly check: () => void;
}

/** Never rejects and never outlasts the deadline: a step that hangs is left behind, and its signal aborts. */
export async function runStep(step: Step, { clock, signal, check }: StepSurroundings): Promise<StepResult> {
  const begun_ms = clock.mono_ms();
  const stop = new AbortController();
  const ended = Promise.withResolvers<string | undefined>();
  const end = (reason: string) => {
    ended.resolve(reason);
    stop.abort(new Error(reason));
  };
  const startOver = () => end('started over');
  const timer = setTimeout(() => {
    check();
    end(`not done within ${step.deadline_ms} ms`);
  }, step.deadline_ms);
  signal.addEventListener('abort', startOver, { once: true });
  Promise.try(() => step.run(stop.signal)).then(
    () => ended.resolve(undefined),
    (error: unknown) => ended.resolve(toErrorMessage(error)),
  );
  const failed = await ended.promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', startOver);
  return toResult(step, clock.mono_ms() - begun_ms, failed);
}

/** Never throws. */
export function runImmediately(step: ImmediateStep, clock: Clock): StepResult {
  const begun_ms = clock.mono_ms();
  let failed: string | undefined;
  try {
    step.run();
  } catch (error) {
    failed = toErrorMessage(error);
  }
  return toResult(step, clock.mono_ms() - begun_ms, failed);
}

function toResult(step: Pick<Step, 'name' | 'deadline_ms'>, took_ms: number, failed: string | undefined): StepResult {
  const ms = Math.round(took_ms * 10) / 10;
  // A step that keeps the event loop busy ends before the timer of its deadline can run.
  const late = ms > step.deadline_ms ? `took longer than ${step.deadline_ms} ms` : undefined;
  const reason = failed ?? late;
  return reason === undefined ? { name: step.name, ms, ok: true } : { name: step.name, ms, ok: false, reason };
}
