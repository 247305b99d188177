import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { startWatchdog } from '../../../src/linux/systemd/watchdog.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const BEAT_MS = 15_000;
const beat = (count = 1) => vi.advanceTimersByTimeAsync(count * BEAT_MS);

function watch(ask: () => Promise<unknown>) {
  let told = 0;
  const silences: boolean[] = [];
  const watchdog = startWatchdog({
    limit_ms: 60_000,
    tell: () => {
      told += 1;
    },
    ask,
    onSilence: (isSilent) => silences.push(isSilent),
  });
  onTestFinished(() => watchdog[Symbol.dispose]());
  return { told: () => told, silences };
}

it('tells at once, and four times in the time of systemd', async () => {
  const { told, silences } = watch(async () => undefined);
  expect(told()).toBe(1);
  await beat(4);
  expect(told()).toBe(5);
  expect(silences).toEqual([]);
});

it('takes a failure for an answer: a new process would have the same disk', async () => {
  const { told } = watch(() => Promise.reject(new Error('the disk is full')));
  await beat(4);
  expect(told()).toBe(5);
});

it('tells nothing while there is no answer, asks no second time, and goes on when it comes', async () => {
  let asked = 0;
  let answer = Promise.withResolvers<void>();
  answer.resolve();
  const { told, silences } = watch(() => {
    asked += 1;
    return answer.promise;
  });
  answer = Promise.withResolvers<void>();
  await beat();
  expect([told(), asked]).toEqual([2, 2]);
  await beat(10);
  expect([told(), asked, silences]).toEqual([2, 2, [true]]);
  answer.resolve();
  await beat();
  expect([told(), silences]).toEqual([3, [true, false]]);
});

it('tells before it asks, so that a machine that wakes up is not late by an answer', async () => {
  const order: string[] = [];
  const watchdog = startWatchdog({
    limit_ms: 60_000,
    tell: () => order.push('tell'),
    ask: async () => order.push('ask'),
    onSilence: () => undefined,
  });
  onTestFinished(() => watchdog[Symbol.dispose]());
  await beat();
  expect(order).toEqual(['tell', 'ask', 'tell', 'ask']);
});
