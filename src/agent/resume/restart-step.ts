// The step of a recovery that ends this process, so that the next one draws other random numbers in its TLS library than a copy of this
// machine. Nothing goes out before it: the gate is closed, and the former connections are gone.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StepResult } from '../../contract/local/resume.ts';
import { mayBeClone } from '../../core/resume/may-be-clone.ts';
import type { Resume } from '../../core/resume/resume-record.ts';
import type { RestartResume } from '../restart/restart-state.ts';
import type { Step } from './run-step.ts';

export interface ResumeRestart {
  isWanted(): boolean;
  /** Never resolves. Rejects with the reason when the process goes on. */
  begin(): Promise<never>;
}

export interface FormerProcess extends RestartResume {
  /** How long ago it began to end. */
  readonly ended_ms: number;
}

const NAME = 'restart';
/** Callers are answered, and everything ends. */
const LIMIT_MS = 30_000;
/** The steps before the gate opens that are over at once: `gate`, `identity` and `sockets`. */
const STEPS_BEFORE = 3;

/** Empty where the process is kept. `endCalls` ends the calls on the former connections: the process waits for its callers. */
export function toRestartSteps(
  restart: ResumeRestart | undefined,
  resume: () => Resume | undefined,
  endCalls: () => void,
): readonly Step[] {
  if (restart?.isWanted() !== true) return [];
  const run = async () => {
    // A process that was stopped is told so by SIGCONT, which is read in the next turn of the loop when a timer found the gap first.
    await nextTurn();
    const noticed = resume();
    if (noticed === undefined || !mayBeClone(noticed.cause)) return;
    endCalls();
    await restart.begin();
  };
  return [{ name: NAME, deadline_ms: LIMIT_MS, run }];
}

/** What the next process does not repeat of a recovery that is under way. */
export function toHandedRecovery(isRunning: boolean, results: readonly StepResult[]): Pick<RestartResume, 'recovery'> {
  return isRunning ? { recovery: results.slice(0, STEPS_BEFORE) } : {};
}

export interface ContinuationOptions {
  readonly former: FormerProcess | undefined;
  readonly goOn: (done: readonly StepResult[]) => void;
  /** Tells all parts of the resume. */
  readonly tell: () => void;
}

/** Going on with the recovery that the former process began; `run` does nothing without one. */
export function createContinuation({ former, goOn, tell }: ContinuationOptions): {
  run(): void;
  readonly isRunning: boolean;
} {
  let isRunning = false;
  return {
    run() {
      if (former?.recovery === undefined) return;
      goOn([...former.recovery, { name: NAME, ms: Math.round(former.ended_ms), ok: true }]);
      isRunning = true;
      tell();
      isRunning = false;
    },
    get isRunning() {
      return isRunning;
    },
  };
}
