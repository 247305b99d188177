// How long a machine that ends waits for its next start, and who has it started again, as pure parts with a clock of the test.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createRestarts } from '../../src/platform/machines/moves/pending-restarts.ts';
import { judgeRestart } from '../../src/platform/machines/records/judge-restart.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function open() {
  let now_ms = 0;
  const boots: number[] = [];
  const clock = { wall_ms: () => now_ms, mono_ms: () => now_ms };
  const boot = async () => void boots.push(now_ms);
  const restarts = createRestarts({ clock, random: () => 0.999_999, boot });
  /** Runs the clock until the next boot. Resolves with how long that took. */
  function next(): number {
    const before = now_ms;
    const count = boots.length;
    while (boots.length === count && now_ms - before < 120_000) {
      now_ms += 1;
      vi.advanceTimersByTime(1);
    }
    return now_ms - before;
  }
  function pass(ms: number): void {
    now_ms += ms;
  }
  return { restarts, next, boots, pass };
}

test('the wait doubles from a quarter of a second up to half a minute, and is short again after a minute of health', () => {
  const { restarts, next, pass } = open();
  const waits: number[] = [];
  for (let count = 0; count < 10; count += 1) {
    restarts.began('m');
    restarts.schedule('m');
    restarts.schedule('m');
    waits.push(next());
  }
  for (const [index, wait] of waits.entries()) {
    const ceiling = Math.min(30_000, 500 * 2 ** index);
    expect(wait).toBeGreaterThanOrEqual(ceiling - 2);
    expect(wait).toBeLessThanOrEqual(ceiling);
  }
  restarts.began('m');
  pass(60_000);
  restarts.schedule('m');
  expect(next()).toBeLessThanOrEqual(500);
});

test('one that is cancelled does not come, and machines do not wait for each other', () => {
  const { restarts, next, boots } = open();
  for (let count = 0; count < 6; count += 1) {
    restarts.schedule('loop');
    next();
  }
  restarts.schedule('loop');
  restarts.schedule('other');
  expect(next()).toBeLessThanOrEqual(500);
  restarts.cancel('loop');
  const before = boots.length;
  vi.advanceTimersByTime(60_000);
  expect(boots.length).toBe(before);
});

test.each([
  ['always', 0, true],
  ['always', null, true],
  ['on-failure', 0, false],
  ['on-failure', 1, true],
  ['on-failure', null, true],
  ['no', 1, false],
] as const)('under %s an end with the code %s is followed by a start: %s', (policy, exit_code, verdict) => {
  expect(judgeRestart(policy, { exit_code })).toBe(verdict);
});
