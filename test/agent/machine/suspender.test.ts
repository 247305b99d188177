import { describe, expect, it, onTestFinished } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { createSuspendProgress } from '../../../src/agent/machine/suspend-progress.ts';
import { createSuspender, type SuspenderOptions } from '../../../src/agent/machine/suspender.ts';
import { systemClock } from '../../../src/core/clock.ts';
import { RemoraError } from '../../../src/core/remora-error.ts';

function setUp(parts: Partial<SuspenderOptions> = {}) {
  const types: string[] = [];
  const fences: boolean[] = [];
  const undone: string[] = [];
  const hub = createEventHub({
    clock: systemClock,
    generation: () => 0,
    sequence: { load: () => 0, reserve: () => undefined },
  });
  hub.subscribe({ onEvent: (event) => types.push(event.type) });
  let asks = 0;
  const suspender = createSuspender({
    clock: systemClock,
    hub,
    mayStart: async () => undefined,
    interlock: () => undefined,
    announce: () => ({}),
    prepare: async () => undefined,
    undo: async (reason) => void undone.push(reason),
    check: () => undefined,
    progress: createSuspendProgress((up) => fences.push(up)),
    ...parts,
    async ask() {
      asks += 1;
      await parts.ask?.();
    },
  });
  onTestFinished(() => suspender[Symbol.dispose]());
  return { suspender, types, fences, undone, asks: () => asks };
}

const never = () => new Promise<void>(() => undefined);

describe('a suspend that is accepted', () => {
  it('fences the machine and ends with the resume', async () => {
    const { suspender, types, fences } = setUp();
    await suspender.suspend(false);
    expect(suspender.state).toBe('fenced');
    suspender.onResumed();
    expect(suspender.state).toBe('resuming');
    expect(suspender.last?.outcome).toBe('resumed');
    suspender.onRecovered();
    expect(suspender.state).toBe('awake');
    expect(types).toEqual(['suspending', 'suspend_accepted']);
    expect(fences).toEqual([true, false]);
  });

  it('is put back when the machine goes on running', async () => {
    const { suspender, types, fences, undone } = setUp({ interruptedAfter_ms: 30 });
    await suspender.suspend(false);
    await expect.poll(() => suspender.state).toBe('awake');
    expect(undone).toEqual(['the platform accepted the suspend and the machine went on running']);
    expect(suspender.last).toMatchObject({ outcome: 'interrupted' });
    expect(types).toEqual(['suspending', 'suspend_accepted', 'suspend_interrupted']);
    expect(fences).toEqual([true, false]);
  });

  it('is not called interrupted by a timer that is late because of the resume itself', async () => {
    const { suspender, types } = setUp({
      interruptedAfter_ms: 30,
      check: () => suspender.onResumed(),
    });
    await suspender.suspend(false);
    await expect.poll(() => suspender.state).toBe('resuming');
    expect(types).not.toContain('suspend_interrupted');
  });

  it('is asked for once however many callers want it', async () => {
    const gate = Promise.withResolvers<void>();
    const { suspender, asks } = setUp({ ask: () => gate.promise });
    const callers = [suspender.suspend(false), suspender.suspend(false), suspender.suspend(true)];
    gate.resolve();
    await Promise.all(callers);
    expect(asks()).toBe(1);
  });
});

describe('an answer that is lost in the snapshot', () => {
  it('counts as accepted once the resume is noticed, and nothing is asked twice', async () => {
    const { suspender, asks } = setUp({ ask: never });
    const answered = suspender.suspend(false);
    await expect.poll(() => suspender.state).toBe('preparing');
    suspender.onResumed();
    await answered;
    expect(suspender.last?.outcome).toBe('resumed');
    expect(asks()).toBe(1);
  });

  it('does not disturb the resume when it comes late', async () => {
    const late = Promise.withResolvers<void>();
    const { suspender, types } = setUp({ ask: () => late.promise });
    const answered = suspender.suspend(false);
    await expect.poll(() => suspender.state).toBe('preparing');
    suspender.onResumed();
    late.reject(new RemoraError('upstream_timeout', 'late'));
    await answered;
    expect(suspender.state).toBe('resuming');
    expect(types).toEqual(['suspending']);
  });
});

describe('a suspend that fails', () => {
  it.each([
    ['upstream_refused', 'refused'],
    ['upstream_failed', 'refused'],
    ['upstream_timeout', 'unknown'],
  ] as const)('leaves the machine awake after %s', async (code, outcome) => {
    const { suspender, types, fences, undone } = setUp({
      ask: () => Promise.reject(new RemoraError(code, 'no')),
    });
    await expect(suspender.suspend(false)).rejects.toMatchObject({ code });
    expect(undone).toEqual(['no']);
    expect(suspender.state).toBe('awake');
    expect(suspender.last).toMatchObject({ outcome, message: 'no' });
    expect(types).toEqual(['suspending', 'suspend_failed']);
    expect(fences).toEqual([true, false]);
  });

  it('says nothing to anybody when it may not even start', async () => {
    const { suspender, types, asks } = setUp({
      mayStart: () => Promise.reject(new RemoraError('not_eligible', 'too large')),
    });
    await expect(suspender.suspend(false)).rejects.toMatchObject({ code: 'not_eligible' });
    expect([suspender.state, types, asks()]).toEqual(['awake', [], 0]);
  });

  it('is dropped when work arrives between the check and the call', async () => {
    let busy = false;
    const { suspender, asks, undone } = setUp({
      prepare: async () => {
        busy = true;
      },
      interlock: () => {
        if (busy) throw new RemoraError('held', 'held awake by build');
      },
    });
    await expect(suspender.suspend(false)).rejects.toMatchObject({ code: 'held' });
    expect([suspender.state, asks(), undone]).toEqual(['awake', 0, ['held awake by build']]);
  });

  it('is dropped when the caller finds new work once all is prepared', async () => {
    const { suspender, asks, undone } = setUp();
    const recheck = () => Promise.reject(new RemoraError('held', 'work arrived'));
    await expect(suspender.suspend(false, { recheck })).rejects.toMatchObject({ code: 'held' });
    expect([suspender.state, asks(), undone]).toEqual(['awake', 0, ['work arrived']]);
  });

  it('is not asked for once the machine was suspended and resumed by others while it was prepared', async () => {
    const prepared = Promise.withResolvers<void>();
    const { suspender, asks, undone } = setUp({ prepare: () => prepared.promise });
    const answered = suspender.suspend(false);
    await expect.poll(() => suspender.state).toBe('preparing');
    suspender.onResumed();
    prepared.resolve();
    await expect(answered).rejects.toMatchObject({ code: 'conflict' });
    expect([suspender.state, asks(), undone]).toEqual(['resuming', 0, []]);
  });

  it('is over when a hook says no, before anybody is asked', async () => {
    const { suspender, asks } = setUp({ prepare: () => Promise.reject(new RemoraError('hook_failed', 'no')) });
    await expect(suspender.suspend(false)).rejects.toMatchObject({ code: 'hook_failed' });
    expect([suspender.state, asks()]).toEqual(['awake', 0]);
  });

  it('can be tried again', async () => {
    let fail = true;
    const { suspender } = setUp({
      ask: () => (fail ? Promise.reject(new RemoraError('upstream_failed', 'no')) : Promise.resolve()),
    });
    await expect(suspender.suspend(false)).rejects.toThrow();
    fail = false;
    await suspender.suspend(false);
    expect(suspender.state).toBe('fenced');
  });
});
