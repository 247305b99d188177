// How long what is polled is waited for, also by a process that gets little of the processor.
import { expect, test } from 'vitest';
import { until } from '../../../src/platform/machines/drivers/until.ts';

/** What is looked at so slowly that the time is over after two looks. */
function lookSlowly(isTrue: (looks: number) => boolean) {
  const seen = { looks: 0 };
  const condition = () => {
    const end_ms = performance.now() + 130;
    while (performance.now() < end_ms) Math.sqrt(end_ms);
    seen.looks += 1;
    return isTrue(seen.looks);
  };
  return { seen, condition };
}

test('a process that stood still itself looks again before it gives up, and not for ever', async () => {
  expect(await until(240, lookSlowly((looks) => looks === 3).condition)).toBe(true);
  const { seen, condition } = lookSlowly(() => false);
  expect([await until(240, condition), seen.looks]).toEqual([false, 3]);
});

test('what never comes is given up at its time', async () => {
  const begun_ms = performance.now();
  expect(await until(100, () => false)).toBe(false);
  expect(performance.now() - begun_ms).toBeGreaterThanOrEqual(100);
});
