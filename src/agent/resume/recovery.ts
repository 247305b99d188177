// Drives the recovery from a resume: runs the steps in order, opens the gate after the first ones, and starts over when the
// machine is resumed again in the middle.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StepResult } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import type { Gate } from './gate.ts';
import { type ImmediateStep, runImmediately, runStep, type Step } from './run-step.ts';

/**
 * Turns of the event loop between the gate and the steps after it. In these the connections that wait in the queue of a socket are
 * taken, their requests are read, and those at the gate are answered: on a slow machine the steps would hold them up for a second.
 */
const TURNS_FOR_CALLERS = 4;

export interface RecoveryOptions {
  readonly clock: Clock;
  readonly gate: Gate;
  readonly check: () => void;
  /** The first step. It is over before `begin` returns, so that every listener to the resume finds the new incarnation. */
  readonly renew: ImmediateStep;
  /** The other steps before the gate opens, in order. Called for each attempt, after `renew`. */
  readonly gated: () => readonly Step[];
  /** The steps after the gate, in order, but that those for callers come first. Called for each attempt once the gate is open. */
  readonly afterwards: () => readonly Step[];
  /** Resolves when the callers that wait for these are answered, or have waited long; absent = at once. */
  readonly callersAnswered?: (() => Promise<void>) | undefined;
  readonly onDone: (results: readonly StepResult[]) => void;
}

export interface Recovery extends AsyncDisposable {
  /** Closes the gate and renews before it returns. Steps of an earlier attempt that still run are aborted, and their results are dropped. */
  begin(): void;
  /** Goes on with the steps after the gate, where a process that is no more has done the ones before. */
  goOn(done: readonly StepResult[]): void;
  /** `run` runs once the callers that a resume has held up are answered, whichever attempt that is; it never throws. */
  afterCallers(run: () => void): void;
  /** Runs now what waits for that. */
  flush(): void;
  readonly running: boolean;
  /** What has ended of the latest attempt, in order. */
  readonly results: readonly StepResult[];
}

export function createRecovery(options: RecoveryOptions): Recovery {
  const { clock, gate, check } = options;
  /** What has ended of the latest attempt. A step that fails keeps nothing from happening. */
  let results: StepResult[] = [];
  let isRunning = false;
  const later: (() => void)[] = [];
  let abort = new AbortController();
  let latest: Promise<void> = Promise.resolve();
  let disposed = false;

  async function run(gated: readonly Step[], signal: AbortSignal): Promise<void> {
    // No step runs before `begin` returns, because its caller publishes the resume first.
    await Promise.resolve();
    await runAll(gated, signal);
    if (signal.aborted) return;
    gate.open('resuming');
    for (let turn = 0; turn < TURNS_FOR_CALLERS; turn += 1) await nextTurn();
    if (signal.aborted) return;
    const { forCallers = [], others = [] } = Object.groupBy(options.afterwards(), toKind);
    const begun = runAll(forCallers, signal);
    await options.callersAnswered?.();
    while (!signal.aborted && later.length > 0) {
      later.shift()?.();
      await nextTurn();
    }
    await begun;
    await runAll(others, signal);
    if (signal.aborted) return;
    isRunning = false;
    options.onDone(results);
  }

  /** What an aborted attempt still has under way ends without a trace. */
  async function runAll(steps: readonly Step[], signal: AbortSignal): Promise<void> {
    for (const step of steps) {
      if (signal.aborted) return;
      const result = await runStep(step, { clock, signal, check });
      if (!signal.aborted) results.push(result);
    }
  }

  function flush(): void {
    for (const run of later.splice(0)) run();
  }

  function attempt(done: readonly StepResult[], gated: readonly Step[]): void {
    isRunning = true;
    results = [...done];
    latest = run(gated, abort.signal);
  }

  return {
    begin() {
      if (disposed) return;
      gate.close('resuming');
      if (isRunning) {
        abort.abort();
        abort = new AbortController();
      }
      const renewed = runImmediately(options.renew, clock);
      attempt([renewed], options.gated());
    },
    goOn(done) {
      if (disposed) return;
      gate.close('resuming');
      attempt(done, []);
    },
    afterCallers(run) {
      later.push(run);
    },
    flush,
    get running() {
      return isRunning;
    },
    get results() {
      return results;
    },
    async [Symbol.asyncDispose]() {
      disposed = true;
      abort.abort();
      flush();
      await latest;
    },
  };
}

function toKind({ isForCallers }: Step): 'forCallers' | 'others' {
  return isForCallers === true ? 'forCallers' : 'others';
}
