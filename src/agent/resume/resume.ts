// The part that notices a resume and brings the agent back. It puts watch, gate, recovery and identity together.

import type { ResumedFields, resumeOperations, SignalStatus, StepResult } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import type { Log } from '../../core/log.ts';
import type { Finding } from '../../core/resume/finding.ts';
import type { Resume } from '../../core/resume/resume-record.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { Kernel } from '../../linux/kernel/kernel.ts';
import type { Caller } from '../access/authenticator.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { Part } from '../parts.ts';
import type { RestartResume } from '../restart/restart-state.ts';
import type { Upstream } from '../upstream.ts';
import { createCurrentResume } from './current-resume.ts';
import { createGate, type Gate } from './gate.ts';
import type { Incarnation } from './incarnation.ts';
import type { LastResume } from './last-resume.ts';
import { createOncePerTick } from './once-per-tick.ts';
import { createOtherFindings } from './other-findings.ts';
import { createRecovery, type Recovery } from './recovery.ts';
import {
  createContinuation,
  type FormerProcess,
  type ResumeRestart,
  toHandedRecovery,
  toRestartSteps,
} from './restart-step.ts';
import { createResumeListeners } from './resume-listeners.ts';
import { toDetectorMemory, toRestartMemory, toRestartResume } from './resume-restart-state.ts';
import { createResumeWatch } from './resume-watch.ts';
import type { Step } from './run-step.ts';
import { openUpstreamObserver } from './upstream-observer.ts';

const NO_COUNTER = 'this machine has no VM generation counter; /v1/status lists what goes unnoticed without it';
const LOST_COUNTER = 'the VM generation counter cannot be read any more; it is looked for again';
export interface ResumeOptions {
  readonly clock: Clock;
  readonly kernel: Kernel;
  readonly hub: EventHub;
  readonly part: Part;
  readonly log: Log;
  readonly upstream: Pick<Upstream, 'cut'>;
  readonly incarnation: Incarnation;
  readonly tick_ms?: number;
  /** What the former process left; its incarnation is in the store. */
  readonly before?: FormerProcess | undefined;
  /** Absent where this process is never ended for a resume. */
  readonly restart?: ResumeRestart | undefined;
  /** Resolves when the local callers that a resume has held up are answered, or have waited long; absent = at once. */
  readonly callersAnswered?: () => Promise<void>;
}

export interface ResumePart extends AsyncDisposable {
  readonly handlers: Handlers<typeof resumeOperations, Caller>;
  /** Closed while connections are replaced and while a suspend is near. */
  readonly gate: Gate;
  /** Begins to look for resumes. `steps` is called at each one and returns what runs once the gate is open, in order. */
  start(signal: AbortSignal, steps: () => readonly Step[]): void;
  /** Looks for a resume now, in a few microseconds. Call it before every guarded action. */
  check(): void;
  /** Begins a recovery because a caller says that the machine was resumed. Has no effect for a resume that is known already. */
  poke(reason?: string): void;
  /** Closes the gate while a suspend is asked for or accepted (`up`), and opens it when it is not any more. */
  setFence(up: boolean): void;
  generation(): number;
  incarnation(): string;
  /** `remora-generation` and `remora-incarnation`, for every call to the platform. Looks for a resume first. */
  identityHeaders(): Readonly<Record<string, string>>;
  /** See `Incarnation.accept`. */
  accept: Incarnation['accept'];
  /** Whether the platform has given this incarnation a nonce, which no copy of the machine has. */
  hasNonce(): boolean;
  /** True while no platform has accepted a report of this installation. */
  isNewInstallation(): boolean;
  lastResume(): LastResume | undefined;
  /** `details.resume` of GET /v1/status. */
  signals(): SignalStatus;
  /**
   * Calls `listener` when a resume was noticed, with the gate closed and the generation raised; again when the recovery starts over.
   * An error that it throws is logged, and the next listener is called.
   */
  onResumed(listener: () => void): void;
  /** Calls `run` once, when the callers that a resume has held up are answered. An error that it throws is logged. */
  afterCallers(run: () => void): void;
  /** Calls `listener` when every step has ended, after `resumed` was published. An error that it throws is logged. */
  onRecovered(listener: () => void): void;
  isRecovering(): boolean;
  /** True while listeners are called in a process that goes on with the recovery of the former one. */
  isContinued(): boolean;
  /** Notes what the detector knows. Call the result once nothing runs any more: it adds the incarnation and the last resume. */
  prepareRestart(): () => RestartResume;
}

export function createResume(options: ResumeOptions): ResumePart {
  const { clock, hub, incarnation, kernel, log, part } = options;
  const running = new AsyncDisposableStack();
  const resumed = createResumeListeners(log);
  const recovered = createResumeListeners(log);
  const others = createOtherFindings(hub, () => setPart(part, watch.signals().missing));
  let recoverySteps: () => readonly Step[] = () => [];
  const before = toDetectorMemory(options.before, kernel.mono_ms() - (options.before?.ended_ms ?? 0));
  const current = createCurrentResume({
    clock,
    generation: () => incarnation.generation,
    before: { resume: before?.recent, shown: options.before?.last },
  });

  const watch = running.use(createResumeWatch({ kernel, onFinding, before, ...tickOf(options) }));
  const oncePerTick = createOncePerTick(watch.check);
  const gate = running.use(createGate({ check: oncePerTick.run }));
  const recovery: Recovery = running.use(
    createRecovery({
      ...{ clock, gate, onDone },
      check: watch.check,
      renew: { name: 'gate', deadline_ms: 5, run: () => incarnation.renew() },
      gated: () => toGatedSteps(options, { resume: () => current.resume, afterCallers, flush: recovery.flush }),
      afterwards: () => recoverySteps(),
      callersAnswered: options.callersAnswered,
    }),
  );

  const afterCallers = (run: () => void) => recovery.afterCallers(toLogged(run, log));

  const continued = createContinuation({ former: options.before, goOn: recovery.goOn, tell: resumed.call });

  function onFinding(finding: Finding): void {
    oncePerTick.reset();
    switch (finding.type) {
      case 'resume': {
        const recovering = recovery.running;
        recovery.begin();
        current.notice(finding.resume, recovering);
        resumed.call();
        return;
      }
      case 'again':
        recovery.begin();
        current.noticeAgain(finding.resume);
        resumed.call();
        return;
      case 'more':
        current.describe(finding.resume);
        return;
      default:
        others.note(finding);
    }
  }

  function onDone(reports: readonly StepResult[]): void {
    if (current.resume === undefined) return;
    const fields = toResumedFields(current.resume, reports);
    hub.publish('resumed', fields);
    log.info({ generation: incarnation.generation, ...fields }, 'resumed');
    recovered.call();
  }

  function poke(reason?: string): void {
    log.info({ reason }, 'told that the machine was resumed');
    watch.poke(recovery.running);
  }

  return {
    handlers: {
      machineResumed({ body }) {
        const before = incarnation.generation;
        poke(body?.reason);
        return new Reply(202, { generation: incarnation.generation, new: incarnation.generation !== before });
      },
    },
    gate,
    start(signal, steps) {
      recoverySteps = steps;
      incarnation.keep();
      watch.start(signal);
      running.use(openUpstreamObserver(watch));
      running.use(kernel);
      continued.run();
      part.set('ok', watch.signals().missing.includes('generation') ? NO_COUNTER : undefined);
    },
    check: watch.check,
    poke,
    setFence(up) {
      watch.setFence(up);
      if (up) gate.close('suspending');
      else gate.open('suspending');
    },
    generation: () => incarnation.generation,
    incarnation: () => incarnation.incarnation,
    identityHeaders() {
      oncePerTick.run();
      return incarnation.headers;
    },
    accept: incarnation.accept,
    hasNonce: () => incarnation.kept.nonce !== undefined,
    isNewInstallation: () => !incarnation.kept.isKnown,
    lastResume: () => current.shown,
    signals: () => ({ ...watch.signals(), boot_id: kernel.bootId() ?? null, ...others.counts() }),
    onResumed: resumed.add,
    afterCallers,
    onRecovered: recovered.add,
    isRecovering: () => recovery.running,
    isContinued: () => continued.isRunning,
    prepareRestart() {
      const handed = {
        ...toRestartMemory(watch.memory(), kernel.mono_ms()),
        ...toHandedRecovery(recovery.running, recovery.results),
      };
      return () => toRestartResume(incarnation.kept, current.shown, handed);
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function toLogged(run: () => void, log: Log): () => void {
  return () => {
    try {
      run();
    } catch (error) {
      log.error({ err: error }, 'what is left of the time before the resume could not be ended');
    }
  };
}

interface Gated extends Pick<ResumePart, 'afterCallers'> {
  readonly resume: () => Resume | undefined;
  readonly flush: () => void;
}

function toGatedSteps(
  { incarnation, upstream, restart, log }: ResumeOptions,
  { resume, afterCallers, flush }: Gated,
): Step[] {
  return [
    { name: 'identity', deadline_ms: 50, run: () => incarnation.save() },
    { name: 'sockets', deadline_ms: 20, run: () => afterCallers(replaceConnections(upstream, log)) },
    ...toRestartSteps(restart, resume, flush),
  ];
}

/**
 * Calls use new connections and the old ones are closed when it returns. The result ends the calls on these, which takes a slow machine
 * some hundred milliseconds: nobody waits for it.
 */
function replaceConnections(upstream: ResumeOptions['upstream'], log: Log): () => void {
  const end = upstream.cut();
  return () => {
    end().catch((error: unknown) => log.error({ err: error }, 'connections from before the resume could not be ended'));
  };
}

function setPart(part: Part, missing: readonly string[]): void {
  if (!missing.includes('generation')) part.set('ok');
  else part.set('degraded', LOST_COUNTER);
}

function tickOf({ tick_ms }: ResumeOptions): { tick_ms?: number } {
  return tick_ms === undefined ? {} : { tick_ms };
}

function toResumedFields({ noticed_mono_ms: _, ...resume }: Resume, reports: readonly StepResult[]): ResumedFields {
  return { ...resume, signals: [...resume.signals], steps: [...reports] };
}
