// What travels from one process of the agent to the next: moments as ages, deadlines as time left, numbers that go on.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createEventHub } from '../../../src/agent/events/event-hub.ts';
import { toHold, toRestartHold } from '../../../src/agent/holds/hold-restart-state.ts';
import { bootClock_ms, leaveRestartState, takeRestartState } from '../../../src/agent/restart/restart-file.ts';
import { type RestartState, restartState } from '../../../src/agent/restart/restart-state.ts';
import { toDetectorMemory, toRestartMemory } from '../../../src/agent/resume/resume-restart-state.ts';
import type { Hold } from '../../../src/core/holds/hold-book.ts';
import { RESTART_FILE } from '../../../src/core/restart.ts';
import { mayBeClone } from '../../../src/core/resume/may-be-clone.ts';
import { createResumeDetector } from '../../../src/core/resume/resume-detector.ts';
import { readBootId } from '../../../src/linux/boot-id.ts';
import { createScriptedKernel } from '../../support/scripted-kernel.ts';
import { tempDir } from '../../support/temp-dir.ts';

const life = { isKnown: true, generation: 3, incarnation: 'ab'.repeat(16) };
const stateOf = (more: Partial<RestartState> = {}): RestartState => ({
  boot_id: readBootId() ?? '',
  begun_boot_ms: bootClock_ms(),
  resume: { life },
  holds: [],
  events: [],
  ...more,
});
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

test('a restore on the way to the next process is noticed there, and one that is known is not', () => {
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

test('the next process knows how long ago the last resume was: a clock that is put right is no step of its own', () => {
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

test('a hold whose connection ends with the former process has the grace of a resume', () => {
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
  const state = restartState.parse(JSON.parse(JSON.stringify(stateOf({ events: [...former.kept] }))));
  const next = createEventHub<string>({ clock, generation: () => 1, sequence, kept: state.events });
  const after: string[] = [];
  next.subscribe({ onEvent: (_event, json) => after.push(json) }, 0);
  expect(after).toEqual(lines);
  expect([next.oldest, next.seq]).toEqual([1, 2]);
  expect(next.publish('third').seq).toBe(3);
  expect(reserved).toBeGreaterThanOrEqual(3);
});

test('it is taken once, and only in the boot in which it was left', () => {
  const dir = tempDir();
  const state = stateOf();
  leaveRestartState(dir, state);
  expect(takeRestartState(dir)).toEqual(state);
  expect(takeRestartState(dir)).toBeUndefined();
  const path = join(dir, RESTART_FILE);
  const unusable: [string, () => void][] = [
    ['another boot', () => leaveRestartState(dir, stateOf({ boot_id: 'other' }))],
    ['too old', () => leaveRestartState(dir, stateOf({ begun_boot_ms: bootClock_ms() - 601_000 }))],
    ['of the future', () => leaveRestartState(dir, stateOf({ begun_boot_ms: bootClock_ms() + 60_000 }))],
    ['cut short', () => writeFileSync(path, '{"boot_id":')],
    ['of another shape', () => writeFileSync(path, '{}')],
  ];
  for (const [what, leave] of unusable) {
    leave();
    expect(takeRestartState(dir), what).toBeUndefined();
    expect(existsSync(path), what).toBe(false);
  }
});
