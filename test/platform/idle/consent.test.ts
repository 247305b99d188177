// The consent of an agent to the sleep of its machine: the platform's call and the agent's part, over a real socket.
import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createSleepConsent } from '../../../src/agent/idle/sleep-consent.ts';
import { createSuspendProgress } from '../../../src/agent/machine/suspend-progress.ts';
import { createSuspender } from '../../../src/agent/machine/suspender.ts';
import { sleepOperations } from '../../../src/contract/local/sleep.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { type Consent, openConsent } from '../../../src/platform/idle/open-consent.ts';
import { eventually } from '../../support/eventually.ts';
import { startIdleAgent } from '../../support/idle-agent.ts';
import { serveEdge } from '../../support/serve-edge.ts';

async function openAgent(prepare: () => Promise<void> = async () => undefined) {
  const { idle, world } = await startIdleAgent();
  const progress = createSuspendProgress(() => undefined);
  Object.defineProperty(world, 'suspendState', { get: () => progress.state });
  const undone: string[] = [];
  const hub = createEventHub({
    clock: systemClock,
    generation: () => 0,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  const suspender = createSuspender({
    clock: systemClock,
    hub,
    mayStart: async () => undefined,
    interlock: () => undefined,
    announce: () => ({}),
    ask: () => Promise.reject(new Error('the agent asks for nothing itself')),
    prepare,
    undo: async (reason) => void undone.push(reason),
    check: () => undefined,
    progress,
  });
  onTestFinished(() => suspender[Symbol.dispose]());
  const sleep = createSleepConsent({
    watch: idle,
    suspend: (steps) => suspender.suspend(false, steps),
    callOff: (message) => suspender.callOff(message),
    state: () => progress.state,
    wasResumed: () => suspender.last?.outcome === 'resumed',
  });
  const operations = {
    consentToSleep: { ...sleepOperations.consentToSleep, servedAt: ['socket'] },
  } as unknown as typeof sleepOperations;
  const { path, edge } = await serveEdge(operations, sleep.handlers);
  const dispatcher = new Pool('http://agent', { socketPath: path, pipelining: 0 });
  onTestFinished(() => dispatcher.destroy());
  const ask = (quiet_ms = 0) =>
    openConsent(
      { dispatcher },
      { move: 'suspend', quiet_ms },
      { signal: new AbortController().signal, limit_ms: 10_000 },
    );
  async function agree(): Promise<Consent> {
    const asked = await ask();
    if ('refused' in asked) throw new Error(asked.refused);
    onTestFinished(() => asked.consent[Symbol.dispose]());
    return asked.consent;
  }
  return { world, progress, suspender, sleep, undone, ask, agree, edge };
}

const hold = (name: string) =>
  ({ name, mode: 'block', created_wall_ms: 0, deadline_run_ms: Infinity, connection: false }) as never;

test('is given to a platform that asks while there is no work, and lasts until it hangs up', async () => {
  const { agree, progress, undone } = await openAgent();
  const consent = await agree();
  expect([progress.state, consent.withdrawn]).toEqual(['fenced', undefined]);
  consent[Symbol.dispose]();
  await eventually(() => progress.state === 'awake');
  expect(undone).toEqual(['the platform called it off']);
});

test('is refused while a hold is in force, with its name, and too soon after work', async () => {
  const { ask, world, progress } = await openAgent();
  world.holds = [hold('build')];
  expect(await ask()).toEqual({ refused: 'held awake by build' });
  world.holds = [];
  expect(await ask(60_000)).toEqual({ refused: expect.stringMatching(/^there was work \d+ ms ago$/) });
  expect(progress.state).toBe('awake');
});

test('is refused for work that comes while the machine is prepared', async () => {
  const agent = await openAgent(async () => {
    agent.world.calls = { open: new Map(), total: 1 };
  });
  const { ask, undone, progress } = agent;
  expect(await ask()).toEqual({ refused: expect.stringContaining('a call or a hold that came and went') });
  expect([progress.state, undone.length]).toEqual(['awake', 1]);
});

test('is withdrawn when a call comes, by its name', async () => {
  const { agree, world, progress, undone } = await openAgent();
  const consent = await agree();
  world.inside = { open: new Map([['exec', 1]]), total: 1, sessions: { type: 'seen', sessions: [] } };
  const why = await eventually(() => consent.withdrawn);
  expect(why).toContain('exec (1 in flight)');
  expect(progress.state).toBe('fenced');
  consent[Symbol.dispose]();
  await eventually(() => progress.state === 'awake');
  expect(undone).toEqual([why]);
});

test('no hold is answered before the platform knows of it', async () => {
  const { agree, sleep, progress } = await openAgent();
  const consent = await agree();
  let isMade = false;
  const made = sleep.beforeHold('build').then(() => {
    isMade = true;
  });
  expect(await eventually(() => consent.withdrawn)).toBe('the hold build');
  expect([isMade, progress.state]).toEqual([false, 'fenced']);
  consent[Symbol.dispose]();
  await made;
  expect(progress.state).toBe('awake');
});

test('a hold waits for nothing while nothing is agreed', async () => {
  const { sleep } = await openAgent();
  await sleep.beforeHold('build');
});

test('a second one is refused, and the first one stays', async () => {
  const { agree, ask, progress } = await openAgent();
  const consent = await agree();
  expect(await ask()).toEqual({ refused: 'a suspend of this machine is under way already' });
  expect([consent.withdrawn, progress.state]).toEqual([undefined, 'fenced']);
});

test('a suspend that is asked for inside counts as done when the machine was asleep meanwhile', async () => {
  const { agree, sleep, suspender } = await openAgent();
  const consent = await agree();
  const before = sleep.beforeSuspend();
  suspender.onResumed();
  expect(await before).toBe('slept');
  suspender.onRecovered();
  await eventually(() => consent.withdrawn);
});

test('a suspend that is asked for inside comes after the sleep that is called off', async () => {
  const { agree, sleep, progress } = await openAgent();
  const consent = await agree();
  const before = sleep.beforeSuspend();
  await eventually(() => consent.withdrawn);
  consent[Symbol.dispose]();
  expect([await before, progress.state]).toEqual(['awake', 'awake']);
  expect(await sleep.beforeSuspend()).toBe('awake');
});

test('is gone with the agent', async () => {
  const { agree, edge } = await openAgent();
  const consent = await agree();
  await edge.drain(0);
  expect(await eventually(() => consent.withdrawn)).toBeDefined();
});
