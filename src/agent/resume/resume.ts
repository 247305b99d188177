// The part that notices a resume and brings the agent back: watch, gate, recovery and identity put together (resume.md,
// sections 3 and 4).

import type { ResumedFields, resumeOperations, SignalReport, StepReport } from '../../contract/local/resume.ts';
import type { Clock } from '../../core/clock.ts';
import { mayBeClone } from '../../core/wake/may-be-clone.ts';
import { joinResumes, type Resume } from '../../core/wake/resume-record.ts';
import type { Finding } from '../../core/wake-detector.ts';
import { type Handlers, Reply } from '../../http/handler.ts';
import type { Caller } from '../doors.ts';
import type { EventHub } from '../events/event-hub.ts';
import type { HandedResume } from '../handover/parcel.ts';
import type { Log } from '../log.ts';
import type { Part } from '../parts.ts';
import type { Upstream } from '../upstream.ts';
import { createGate, type Gate } from './gate.ts';
import { toHandedMemory, toWakeMemory } from './handed-resume.ts';
import type { Kernel } from './kernel.ts';
import { type LastResume, toLastResume } from './last-resume.ts';
import { createLife, type LifeStore } from './life.ts';
import { createRecovery } from './recovery.ts';
import { createResumeWatch } from './resume-watch.ts';
import type { Step } from './run-step.ts';
import { createTurnCheck } from './turn-check.ts';
import { openUpstreamObserver } from './upstream-observer.ts';

const NO_COUNTER = 'this machine has no VM generation counter; /v1/status lists what goes unnoticed without it';
const LOST_COUNTER = 'the VM generation counter cannot be read any more; it is looked for again';

export interface ResumeOptions {
  readonly clock: Clock;
  readonly kernel: Kernel;
  readonly hub: EventHub;
  readonly part: Part;
  readonly log: Log;
  readonly upstream: Pick<Upstream, 'replace'>;
  readonly lifeStore: LifeStore;
  /** What follows once the gate is open, in order. */
  readonly steps: () => readonly Step[];
  readonly tick_ms?: number;
  /** From the former image of this process; its life is in the store. */
  readonly handed?: HandedResume | undefined;
}

export interface ResumePart extends AsyncDisposable {
  readonly handlers: Handlers<typeof resumeOperations, Caller>;
  /** Closed while connections are replaced and while a suspend is near. */
  readonly gate: Gate;
  start(signal: AbortSignal): void;
  /** Before every guarded action: looks for a resume now, in a few microseconds. */
  check(): void;
  /** Somebody says that the machine was resumed. Without effect on a resume that is known already. */
  poke(reason?: string): void;
  /** A suspend was accepted or is being asked for, or no longer. */
  setFence(up: boolean): void;
  generation(): number;
  incarnation(): string;
  /** `remora-generation` and `remora-incarnation`, for every call to the platform. Looks for a resume first. */
  identityHeaders(): Readonly<Record<string, string>>;
  lastResume(): LastResume | undefined;
  /** `details.resume` of GET /v1/status. */
  signals(): SignalReport;
  /** Called at once when a resume was noticed, with the gate closed and the generation raised; again when it starts over. */
  onWake(listener: () => void): void;
  /** Called when every step has ended, after `resumed` was published. */
  onRecovered(listener: () => void): void;
  /** Whether the last resume may have left another machine with the memory of this one. */
  mayBeClone(): boolean;
  /** Notes what the detector knows; the result adds the life and the last resume as they are once nothing runs any more. */
  handOver(): () => HandedResume;
}

export function createResume(options: ResumeOptions): ResumePart {
  const { clock, hub, kernel, log, part, upstream } = options;
  const life = createLife(options.lifeStore);
  const running = new AsyncDisposableStack();
  const wakeListeners: (() => void)[] = [];
  const recoveredListeners: (() => void)[] = [];
  const stalls = { busy: 0, starved: 0, longest_ms: 0 };
  let clockSteps = 0;
  let last = options.handed?.last;
  /** What the recovery that is running, or the last one, is about; `earlier` are resumes it was started over for. */
  let about: { readonly resume: Resume; readonly earlier: Resume | undefined; readonly wall_ms: number } | undefined;
  const before = toWakeMemory(options.handed, kernel.mono_ms());
  if (before?.recent !== undefined && last !== undefined) {
    about = { resume: before.recent, earlier: undefined, wall_ms: Date.parse(last.at) };
  }

  const watch = running.use(createResumeWatch({ kernel, onFinding, before, ...tickOf(options) }));
  const turn = createTurnCheck(watch.check);
  const gate = running.use(createGate({ check: turn.look }));
  const recovery = running.use(
    createRecovery({
      clock,
      gate,
      check: watch.check,
      gated: () => [
        { name: 'gate', deadline_ms: 5, run: () => life.renew() },
        { name: 'identity', deadline_ms: 50, run: () => life.save() },
        { name: 'sockets', deadline_ms: 20, run: () => upstream.replace() },
      ],
      afterwards: options.steps,
      onDone,
    }),
  );

  function onFinding(finding: Finding): void {
    turn.again();
    switch (finding.type) {
      case 'resume':
        begin(finding.resume, recovery.running ? about?.resume : undefined);
        return;
      case 'again':
        begin(finding.resume, about?.earlier);
        return;
      case 'more':
        describe(finding.resume, about?.earlier);
        return;
      case 'stall':
        stalls[finding.why] += 1;
        stalls.longest_ms = Math.max(stalls.longest_ms, finding.gap_ms);
        return;
      case 'clock_stepped':
      case 'clock_corrected':
        clockSteps += 1;
        hub.publish(finding.type, { step_ms: finding.step_ms });
        return;
      case 'signal_lost':
      case 'signal_found':
        hub.publish(finding.type, { signal: finding.source });
        if (finding.source === 'generation') reportCounter();
        return;
      default:
        finding satisfies never;
    }
  }

  function begin(resume: Resume, earlier: Resume | undefined): void {
    about = undefined;
    recovery.begin();
    describe(resume, earlier);
    for (const listener of wakeListeners) listener();
  }

  function describe(resume: Resume, earlier: Resume | undefined): void {
    const whole = earlier === undefined ? resume : joinResumes(earlier, resume, true);
    about = { resume: whole, earlier, wall_ms: about?.wall_ms ?? clock.wall_ms() };
    last = toLastResume(whole, about.wall_ms, life.generation);
  }

  function onDone(reports: readonly StepReport[]): void {
    if (about === undefined) return;
    const { noticed_mono_ms: _, ...resume } = about.resume;
    const fields: ResumedFields = { ...resume, signals: [...resume.signals], steps: [...reports] };
    hub.publish('resumed', fields);
    log.info({ generation: life.generation, ...fields }, 'resumed');
    for (const listener of recoveredListeners) listener();
  }

  function reportCounter(): void {
    const { missing } = watch.signals();
    if (!missing.includes('generation')) part.set('ok');
    else part.set('degraded', LOST_COUNTER);
  }

  function poke(reason?: string): void {
    log.info({ reason }, 'told that the machine was resumed');
    watch.poke(recovery.running);
  }

  return {
    handlers: {
      machineResumed({ body }) {
        const before = life.generation;
        poke(body?.reason);
        return new Reply(202, { generation: life.generation, new: life.generation !== before });
      },
    },
    gate,
    start(signal) {
      life.keep();
      watch.start(signal);
      running.use(openUpstreamObserver(watch));
      running.use(kernel);
      part.set('ok', watch.signals().missing.includes('generation') ? NO_COUNTER : undefined);
    },
    check: watch.check,
    poke,
    setFence(up) {
      watch.setFence(up);
      if (up) gate.close('suspending');
      else gate.open('suspending');
    },
    generation: () => life.generation,
    incarnation: () => life.incarnation,
    identityHeaders() {
      turn.look();
      return life.headers;
    },
    lastResume: () => last,
    signals: () => ({
      ...watch.signals(),
      boot_id: kernel.bootId() ?? null,
      stalls: { ...stalls },
      clock_steps: clockSteps,
    }),
    onWake: (listener) => void wakeListeners.push(listener),
    onRecovered: (listener) => void recoveredListeners.push(listener),
    mayBeClone: () => about !== undefined && mayBeClone(about.resume.cause),
    handOver() {
      const memory = toHandedMemory(watch.memory(), kernel.mono_ms());
      return () => ({
        life: { generation: life.generation, incarnation: life.incarnation },
        ...(last === undefined ? {} : { last }),
        ...memory,
      });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}

function tickOf({ tick_ms }: ResumeOptions): { tick_ms?: number } {
  return tick_ms === undefined ? {} : { tick_ms };
}
