import { describe, expect, onTestFinished, test } from 'vitest';
import { type AgentEvent, createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createPartBoard } from '../../../src/agent/parts.ts';
import { createIncarnation } from '../../../src/agent/resume/incarnation.ts';
import { createResume, type ResumePart } from '../../../src/agent/resume/resume.ts';
import type { Step } from '../../../src/agent/resume/run-step.ts';
import { lastResume } from '../../../src/contract/local/machine.ts';
import { resumedFields, resumeOperations, signalStatus } from '../../../src/contract/local/resume.ts';
import type { MachineIncarnation } from '../../../src/contract/resume-reports.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { ask } from '../../support/ask.ts';
import { eventually } from '../../support/eventually.ts';
import {
  createScriptedKernel,
  type ScriptedKernel,
  type ScriptedKernelOptions,
} from '../../support/scripted-kernel.ts';
import { serveEdge } from '../../support/serve-edge.ts';
import { silentLog } from '../../support/silent-log.ts';

const KEPT = 'ab'.repeat(16);

interface RigOptions {
  readonly kernel?: ScriptedKernelOptions;
  readonly steps?: readonly Step[];
  /** Late enough that only checks look, unless a test wants ticks. */
  readonly tick_ms?: number;
  readonly generation?: number;
}

interface Rig {
  readonly kernel: ScriptedKernel;
  readonly resume: ResumePart;
  readonly events: AgentEvent[];
  readonly saved: MachineIncarnation[];
  readonly board: ReturnType<typeof createPartBoard>;
  /** Ordinary time, looked at every second. */
  pass(seconds: number): void;
  /** How often the connections were replaced. */
  replaced(): number;
  of(type: string): AgentEvent[];
  /** The `resumed` event with this index, awaited. */
  resumed(index: number): Promise<AgentEvent>;
}

function rig(options: RigOptions = {}): Rig {
  const kernel = createScriptedKernel(options.kernel);
  const events: AgentEvent[] = [];
  const saved: MachineIncarnation[] = [];
  let replaced = 0;
  const hub = createEventHub({
    clock: systemClock,
    generation: () => resume.generation(),
    sequence: { load: () => 0, reserve: () => undefined },
  });
  hub.subscribe({ onEvent: (event) => void events.push(event) });
  const board = createPartBoard(systemClock);
  const resume: ResumePart = createResume({
    // The deadlines of the first steps are milliseconds: a test process that stands still for a moment must not miss one.
    clock: { ...systemClock, mono_ms: kernel.mono_ms },
    kernel,
    hub,
    part: board.part('resume'),
    log: silentLog,
    upstream: {
      cut() {
        replaced += 1;
        return async () => undefined;
      },
    },
    incarnation: createIncarnation({
      load: () => ({ generation: options.generation ?? 7, incarnation: KEPT, nonce: undefined, isKnown: true }),
      save: (kept) => void saved.push(kept),
    }),
    tick_ms: options.tick_ms ?? 3_600_000,
  });
  const stop = new AbortController();
  resume.start(stop.signal, () => options.steps ?? []);
  onTestFinished(async () => {
    stop.abort();
    await resume[Symbol.asyncDispose]();
  });
  const of = (type: string) => events.filter((event) => event.type === type);
  return {
    kernel,
    resume,
    events,
    saved,
    board,
    pass(seconds) {
      for (let second = 0; second < seconds; second += 1) {
        kernel.run(1_000);
        resume.check();
      }
    },
    replaced: () => replaced,
    of,
    resumed: (index) => eventually(() => of('resumed')[index]),
  };
}

const ranOnce = (name: string, ran: string[]): Step => ({ name, deadline_ms: 1_000, run: () => void ran.push(name) });

describe('a restore', () => {
  test('is told to every listener, also after one that throws', async () => {
    const { kernel, resume, resumed } = rig();
    const told: string[] = [];
    const fail = () => {
      throw new Error('this listener fails');
    };
    resume.onResumed(fail);
    resume.onResumed(() => void told.push(`noticed ${resume.generation()}`));
    resume.onRecovered(fail);
    resume.onRecovered(() => void told.push('done'));
    kernel.restore(14_000);
    resume.check();
    expect(told).toEqual(['noticed 8']);
    expect((await resumed(0)).steps).toMatchObject([
      { name: 'gate', ok: true },
      { name: 'identity', ok: true },
      { name: 'sockets', ok: true },
    ]);
    expect(told).toEqual(['noticed 8', 'done']);
  });

  test('raises the generation, renews the incarnation and closes the gate before the look returns', async () => {
    const { kernel, resume, saved, resumed } = rig();
    expect(resume.incarnation()).toBe(KEPT);
    let woken = 0;
    resume.onResumed(() => {
      woken += 1;
    });
    kernel.restore(14_000);
    resume.check();
    expect(woken).toBe(1);
    expect(resume.generation()).toBe(8);
    expect(resume.incarnation()).toMatch(/^[0-9a-f]{32}$/);
    expect(resume.incarnation()).not.toBe(KEPT);
    expect(resume.gate.closed).toBe('resuming');
    await resumed(0);
    expect(saved).toEqual([{ generation: 8, incarnation: resume.incarnation(), nonce: undefined, isKnown: true }]);
    expect(resume.gate.closed).toBeUndefined();
    expect(resume.identityHeaders()).toEqual({
      'remora-generation': '8',
      'remora-incarnation': resume.incarnation(),
    });
  });

  test('is told once, with each step, and remembered', async () => {
    const ran: string[] = [];
    const { kernel, resume, replaced, resumed, events } = rig({
      steps: [ranOnce('policy', ran), ranOnce('stream', ran), ranOnce('ports', ran)],
    });
    let recovered = 0;
    resume.onRecovered(() => {
      recovered += 1;
    });
    kernel.restore(14_000);
    resume.check();
    const event = await resumed(0);
    const fields = resumedFields.parse(event);
    expect(fields).toMatchObject({
      cause: 'restore',
      certainty: 'certain',
      signals: ['generation', 'rtc'],
      restores: 1,
    });
    expect(fields.steps.map(({ name, ok }) => [name, ok])).toEqual(
      ['gate', 'identity', 'sockets', 'policy', 'stream', 'ports'].map((name) => [name, true]),
    );
    expect(event.generation).toBe(8);
    expect([ran, replaced(), recovered]).toEqual([['policy', 'stream', 'ports'], 1, 1]);
    const last = lastResume.parse(resume.lastResume());
    expect(last).toMatchObject({ cause: 'restore', generation: 8, gap_ms: fields.gap_ms });
    resume.check();
    expect(events.map(({ type }) => type)).toEqual(['resumed']);
  });

  test('is noticed within a tick when nobody looks', async () => {
    const { kernel, resumed } = rig({ tick_ms: 5 });
    kernel.restore();
    expect(await resumed(0)).toMatchObject({ cause: 'restore' });
  });

  test('is noticed by a call that is about to go out, which waits until the connections are new', async () => {
    const { kernel, resume, replaced, pass } = rig();
    kernel.restore();
    await resume.gate.wait();
    expect(replaced()).toBe(1);
    pass(10);
    kernel.restore();
    expect(resume.identityHeaders()['remora-generation']).toBe('9');
  });

  test('again in the middle of the recovery starts it over, with one report of both', async () => {
    let hang = true;
    const ran: string[] = [];
    const hanging: Step = {
      name: 'stream',
      deadline_ms: 60_000,
      run: () => (hang ? new Promise(() => undefined) : undefined),
    };
    const { kernel, resume, replaced, resumed, of, pass } = rig({ steps: [ranOnce('policy', ran), hanging] });
    kernel.restore();
    resume.check();
    await eventually(() => ran.length === 1);
    hang = false;
    pass(5);
    kernel.pauseRunning(12_000);
    resume.check();
    expect(resume.gate.closed).toBe('resuming');
    expect(await resumed(0)).toMatchObject({
      cause: 'restore',
      signals: ['generation', 'rtc', 'timer_gap'],
      restores: 2,
    });
    expect(of('resumed')).toHaveLength(1);
    expect([ran.length, replaced(), resume.generation()]).toEqual([2, 2, 9]);
  });

  test('three times within two seconds is one resume of three', async () => {
    const slow = Promise.withResolvers<void>();
    const { kernel, resume, resumed, of } = rig({
      steps: [{ name: 'stream', deadline_ms: 60_000, run: () => slow.promise }],
    });
    for (let count = 0; count < 3; count += 1) {
      kernel.restore();
      resume.check();
    }
    slow.resolve();
    expect(await resumed(0)).toMatchObject({ cause: 'restore', restores: 3 });
    expect(of('resumed')).toHaveLength(1);
  });

  test('with a step that fails and one that hangs is told all the same', async () => {
    const { kernel, resume, resumed } = rig({
      steps: [
        { name: 'policy', deadline_ms: 1_000, run: () => Promise.reject(new Error('the platform is away')) },
        { name: 'stream', deadline_ms: 20, run: () => new Promise(() => undefined) },
        { name: 'ports', deadline_ms: 1_000, run: () => undefined },
      ],
    });
    kernel.restore();
    resume.check();
    const { steps } = resumedFields.parse(await resumed(0));
    expect(steps.slice(3)).toMatchObject([
      { name: 'policy', ok: false, reason: 'the platform is away' },
      { name: 'stream', ok: false, reason: 'not done within 20 ms' },
      { name: 'ports', ok: true },
    ]);
  });
});

describe('what is no resume', () => {
  test('keeps the connections and the generation, and is counted', async () => {
    const { kernel, resume, replaced, events } = rig();
    kernel.block(3_000);
    resume.check();
    kernel.starve(5_000);
    resume.check();
    kernel.countPauses({ copies: 1, resumes: 0 });
    kernel.stop(4_000);
    resume.check();
    kernel.stepWall(3_600_000);
    resume.check();
    kernel.run(1_000);
    kernel.stepWall(-600_000);
    resume.check();
    expect([replaced(), resume.generation(), resume.lastResume()]).toEqual([0, 7, undefined]);
    expect(events.map(({ type, step_ms }) => [type, step_ms])).toEqual([
      ['clock_stepped', 3_600_000],
      ['clock_stepped', -600_000],
    ]);
    expect(signalStatus.parse(resume.signals())).toMatchObject({
      stalls: { busy: 1, starved: 1, held: 1, longest_ms: 5_000 },
      clock_steps: 2,
    });
  });

  test('a clock that is put right after a restore is told as that, once', async () => {
    const { kernel, resume, resumed, replaced, of, pass } = rig();
    kernel.restore(14_000);
    resume.check();
    await resumed(0);
    pass(30);
    kernel.stepWall(14_000);
    resume.check();
    resume.check();
    expect(of('clock_corrected').map(({ step_ms }) => step_ms)).toEqual([14_000]);
    expect([replaced(), resume.generation()]).toEqual([1, 8]);
  });
});

describe('the counter', () => {
  test('that is lost degrades the part until it is found, and nothing throws', () => {
    const { kernel, resume, board, events } = rig();
    expect(board.statuses().resume.state).toBe('ok');
    kernel.lose('generation');
    resume.check();
    expect(board.statuses().resume).toMatchObject({ state: 'degraded', reason: expect.stringMatching(/counter/) });
    expect(resume.signals().missing).toContain('generation');
    kernel.find('generation');
    resume.check();
    expect(board.statuses().resume.state).toBe('ok');
    expect(events.map(({ type, signal }) => [type, signal])).toEqual([
      ['signal_lost', 'generation'],
      ['signal_found', 'generation'],
    ]);
  });

  test('that this machine never had is a note and no fault', () => {
    const { resume, board } = rig({ kernel: { without: ['generation'] } });
    expect(board.statuses().resume).toMatchObject({ state: 'ok', reason: expect.stringMatching(/no VM generation/) });
    expect(resume.signals().blind_spots.join()).toMatch(/no VM generation counter/);
  });
});

describe('POST /v1/machine/resumed', () => {
  async function door(options: RigOptions = {}) {
    const it = rig(options);
    const { machineResumed } = it.resume.handlers;
    const { path } = await serveEdge(resumeOperations, {
      machineResumed: (call) => machineResumed({ ...call, principal: { listener: 'socket' } }),
    });
    const post = (body?: unknown) =>
      ask(path, {
        method: 'POST',
        target: '/v1/machine/resumed',
        ...(body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      });
    return { ...it, post };
  }

  test('starts a recovery where nothing was noticed, without a body or with a reason', async () => {
    const { post, resumed, pass } = await door();
    expect(await post()).toMatchObject({ status: 202, json: { generation: 8, new: true } });
    expect(await resumed(0)).toMatchObject({ cause: 'poke', certainty: 'likely', gap_ms: null });
    pass(3);
    expect(await post({ reason: 'post-resume hook' })).toMatchObject({
      status: 202,
      json: { generation: 9, new: true },
    });
  });

  test('adds its word to a resume that is known, however often it is said', async () => {
    const { post, resume, kernel, resumed, of } = await door();
    kernel.restore();
    resume.check();
    for (let count = 0; count < 5; count += 1) {
      expect(await post()).toMatchObject({ status: 202, json: { generation: 8, new: false } });
    }
    await resumed(0);
    expect(of('resumed')).toHaveLength(1);
    expect(resume.lastResume()).toMatchObject({ cause: 'restore', signals: ['generation', 'rtc', 'poke'] });
  });

  test('is told about a reason that is no text', async () => {
    const { post } = await door();
    expect(await post({ reason: 5 })).toMatchObject({ status: 400, json: { error: 'invalid_request' } });
  });
});

describe('the fence', () => {
  test('holds callers back with the reason, and comes down', async () => {
    const { resume } = rig();
    resume.setFence(true);
    expect(resume.gate.closed).toBe('suspending');
    resume.setFence(false);
    await resume.gate.wait();
  });

  test('makes a short stop that SIGCONT ends a resume', async () => {
    const { resume, kernel, resumed } = rig();
    resume.setFence(true);
    resume.onResumed(() => resume.setFence(false));
    kernel.stop(400);
    expect(await resumed(0)).toMatchObject({ cause: 'process_stopped', signals: ['continued', 'fence'] });
    expect(resume.gate.closed).toBeUndefined();
  });
});

test('before it is started and after it ended a look finds nothing and throws nothing', async () => {
  const kernel = createScriptedKernel();
  const board = createPartBoard(systemClock);
  const resume: ResumePart = createResume({
    clock: systemClock,
    kernel,
    hub: createEventHub({
      clock: systemClock,
      generation: () => 1,
      sequence: { load: () => 0, reserve: () => undefined },
    }),
    part: board.part('resume'),
    log: silentLog,
    upstream: { cut: () => async () => undefined },
    incarnation: createIncarnation({ load: () => undefined, save: () => undefined }),
  });
  resume.check();
  resume.start(new AbortController().signal, () => []);
  await resume[Symbol.asyncDispose]();
  kernel.restore();
  resume.check();
  await resume.gate.wait();
  expect([resume.generation(), resume.lastResume()]).toEqual([0, undefined]);
});
