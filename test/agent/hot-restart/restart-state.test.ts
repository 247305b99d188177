// What travels from one image of the process to the next: moments as ages, deadlines as time left, numbers that go on.
import { expect, test } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { toHold, toRestartHold } from '../../../src/agent/holds/hold-restart-state.ts';
import { readRestartState } from '../../../src/agent/hot-restart/read-restart-state.ts';
import { parseRestartState } from '../../../src/agent/hot-restart/restart-state.ts';
import { toDetectorMemory, toRestartMemory } from '../../../src/agent/resume/resume-restart-state.ts';
import type { Hold } from '../../../src/core/holds/hold-book.ts';
import { mayBeClone } from '../../../src/core/resume/may-be-clone.ts';
import { createResumeDetector } from '../../../src/core/resume/resume-detector.ts';
import { createScriptedKernel } from '../../support/scripted-kernel.ts';

const life = { isKnown: true, generation: 3, incarnation: 'ab'.repeat(16) };
const clock = { wall_ms: () => 1_000, mono_ms: () => 1_000 };

test.each([
  ['restore', true],
  ['vm_paused_silent', true],
  ['external_time', true],
  ['vm_paused', true],
  ['poke', true],
  ['guest_sleep', false],
  ['process_stopped', false],
] as const)('after %s the memory may be a clone: %s', (cause, expected) => {
  expect(mayBeClone(cause)).toBe(expected);
});

test('a restore on the way to the next image is noticed there, and one that is known is not', () => {
  const kernel = createScriptedKernel();
  const former = createResumeDetector(kernel);
  kernel.run(250);
  kernel.restore();
  expect(former.tick()).toMatchObject([{ type: 'resume' }]);
  const handed = toRestartMemory(former.memory(), kernel.mono_ms());

  kernel.run(5_000);
  const untouched = createResumeDetector(kernel, toDetectorMemory({ life, ...handed }, kernel.mono_ms()));
  kernel.run(250);
  expect(untouched.tick()).toEqual([]);

  kernel.restore();
  const late = createResumeDetector(kernel, toDetectorMemory({ life, ...handed }, kernel.mono_ms() - 5_000));
  kernel.run(250);
  expect(late.tick()).toMatchObject([{ type: 'resume', resume: { cause: 'restore', restores: 1 } }]);
});

test('the next image knows how long ago the last resume was: a clock that is put right is no step of its own', () => {
  const kernel = createScriptedKernel();
  const former = createResumeDetector(kernel);
  kernel.restore();
  former.tick();
  const handed = toRestartMemory(former.memory(), kernel.mono_ms());
  expect(handed.recent?.age_ms).toBe(0);
  const next = createResumeDetector(kernel, toDetectorMemory({ life, ...handed }, kernel.mono_ms()));
  kernel.run(250);
  kernel.stepWall(14_000);
  expect(next.tick()).toMatchObject([{ type: 'clock_corrected' }]);
});

test('without a detector there is nothing to remember', () => {
  expect(toRestartMemory(undefined, 1)).toEqual({});
  expect(toDetectorMemory({ life }, 1)).toBeUndefined();
  expect(toDetectorMemory(undefined, 1)).toBeUndefined();
});

const hold: Hold = {
  name: 'build',
  mode: 'block',
  reason: 'compiling',
  process: { pid: 7, started: '99' },
  connection: false,
  created_wall_ms: 500,
  deadline_run_ms: 90_000,
};

test('a hold has what it had left, on another clock', () => {
  const handed = toRestartHold(hold, { run_ms: 30_000, wall_ms: 0 });
  expect(handed.left_ms).toBe(60_000);
  expect(toHold(handed, { run_ms: 5, wall_ms: 0 })).toEqual({ ...hold, deadline_run_ms: 60_005 });
});

test('a hold whose connection ends with the former image has the grace of a resume', () => {
  const bound: Hold = { ...hold, reason: undefined, process: undefined, connection: true, deadline_run_ms: Infinity };
  const handed = toRestartHold(bound, { run_ms: 30_000, wall_ms: 0 });
  expect(JSON.parse(JSON.stringify(handed))).toEqual({ name: 'build', mode: 'block', created_wall_ms: 500 });
  expect(toHold(handed, { run_ms: 5, wall_ms: 0 })).toEqual({ ...bound, deadline_run_ms: 30_005 });
});

test('events keep their numbers, lines and order, and the next one has the next number', () => {
  let reserved = 0;
  const sequence = {
    load: () => reserved,
    reserve: (upTo: number) => {
      reserved = upTo;
    },
  };
  const former = createEventHub<string>({ clock, generation: () => 1, sequence });
  former.publish('resumed', { cause: 'restore' });
  former.publish('other');
  const lines: string[] = [];
  former.subscribe({ onEvent: (_event, json) => lines.push(json) }, 0);
  const state = parseRestartState(
    JSON.stringify({ begun_wall_ms: 0, sockets: [], resume: { life }, holds: [], events: former.kept }),
  );
  const next = createEventHub<string>({ clock, generation: () => 1, sequence, kept: state.events });
  const after: string[] = [];
  next.subscribe({ onEvent: (_event, json) => after.push(json) }, 0);
  expect(after).toEqual(lines);
  expect([next.oldest, next.seq]).toEqual([1, 2]);
  expect(next.publish('third').seq).toBe(3);
  expect(reserved).toBeGreaterThanOrEqual(3);
});

test('what was left for another process is left alone, and the variable is gone in any case', () => {
  for (const value of [undefined, '1:3', `${process.pid}`, 'x']) {
    const env: NodeJS.ProcessEnv = value === undefined ? {} : { REMORA_HANDOVER: value };
    expect(readRestartState(env, process.pid)).toBeUndefined();
    expect(env).toEqual({});
  }
});
