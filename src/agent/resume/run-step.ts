// One step of the recovery, with a deadline in run time. Whatever it does, it ends with a report.

import type { StepReport } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';

export interface Step {
  readonly name: string;
  readonly deadline_ms: number;
  /** Aborted at the deadline, and when a second resume starts the recovery over. */
  run(signal: AbortSignal): Promise<void> | void;
}

export interface StepSurroundings {
  readonly clock: Clock;
  /** Aborted when the recovery starts over or the agent ends. */
  readonly signal: AbortSignal;
  /** Looks for a resume before a deadline is believed: it may be overdue because the machine was away again. */
  readonly check: () => void;
}

/** Never rejects and never outlasts the deadline: a step that hangs is left behind and told so through its signal. */
export async function runStep(step: Step, { clock, signal, check }: StepSurroundings): Promise<StepReport> {
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
    (error: unknown) => ended.resolve(error instanceof Error ? error.message : String(error)),
  );
  const reason = await ended.promise;
  clearTimeout(timer);
  signal.removeEventListener('abort', startOver);
  const ms = Math.round((clock.mono_ms() - begun_ms) * 10) / 10;
  return reason === undefined ? { name: step.name, ms, ok: true } : { name: step.name, ms, ok: false, reason };
}
