import { expect, test } from 'vitest';
import { untilAligned_ms } from '../../src/core/timer-alignment.ts';

test.each([
  [0, 250, 250],
  [1_000.3, 250, 250],
  [1_100, 250, 150],
  [1_125, 250, 125],
  [1_126, 250, 374],
  [1_249.9, 250, 251],
  [0.5, 5, 5],
])('at %d with a period of %d it is %d', (now_ms, period_ms, expected) => {
  expect(untilAligned_ms(now_ms, period_ms)).toBe(expected);
});

test('timers that began at any time end up together', () => {
  const ends = [3, 90, 140, 249].map((start_ms) => {
    let now_ms = 10_000 + start_ms;
    // Each round ends a little late, as timers do.
    for (let round = 0; round < 3; round += 1) now_ms += untilAligned_ms(now_ms, 250) + 0.7;
    return now_ms % 250;
  });
  for (const end_ms of ends) expect(end_ms).toBeLessThan(3);
});
